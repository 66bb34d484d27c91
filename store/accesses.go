package store

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

// AccessRecords are the access records of shares. Get them from a [Tx].
type AccessRecords struct{ tx *Tx }

// Accesses are the access records of shares. They are no part of definitions,
// revisions or backups, and go when the share is deleted.
func (tx *Tx) Accesses() AccessRecords { return AccessRecords{tx} }

// Get returns the record of a share, an empty one if nothing was recorded or
// the record cannot be read.
func (a AccessRecords) Get(shareID string) (sandrone.ShareAccesses, error) {
	none := sandrone.ShareAccesses{Recent: []sandrone.ShareAccess{}}
	if sandrone.CheckName("id", shareID) != nil {
		return none, nil
	}
	text, err := a.tx.kv.Get(SpaceAccesses, shareID)
	if err != nil || text == nil {
		return none, err
	}
	record := none
	if json.Unmarshal(text, &record) != nil || record.Recent == nil {
		return none, nil
	}
	return record, nil
}

// Add records accesses in the order in which they happened. Those of a share
// that is gone are dropped. Callers collect accesses and add them together,
// every few seconds: each transaction costs a write to the disk.
func (a AccessRecords) Add(shareID string, accesses ...sandrone.ShareAccess) error {
	exists, err := a.tx.Shares().Exists(shareID)
	if err != nil || !exists || len(accesses) == 0 {
		return err
	}
	record, err := a.Get(shareID)
	if err != nil {
		return err
	}
	for _, access := range accesses {
		record.Add(access)
	}
	return put(a.tx.kv, SpaceAccesses, shareID, record)
}
