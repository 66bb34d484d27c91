package store

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

const (
	maxTokens      = 100
	secretPrefix   = "sdt_"
	secretLength   = len(secretPrefix) + 43 // 32 bytes in base64url
	tokenUsePeriod = time.Minute
)

// NamedTokens are the named tokens. Get them from a [Tx].
type NamedTokens struct{ tx *Tx }

// Tokens are the named tokens, listed by time of creation. They are in no
// backup, and a restore leaves them alone.
func (tx *Tx) Tokens() NamedTokens { return NamedTokens{tx} }

type storedToken struct {
	sandrone.Token
	SHA256 string `json:"sha256"` // of the secret, in hex
}

// List returns every token. One that cannot be read is left out; it opens
// nothing.
func (t NamedTokens) List() ([]sandrone.Token, error) {
	stored, err := t.stored()
	list := make([]sandrone.Token, len(stored))
	for i := range stored {
		list[i] = stored[i].Token
	}
	slices.SortStableFunc(list, func(a, b sandrone.Token) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}

func (t NamedTokens) stored() (list []storedToken, err error) {
	err = t.tx.kv.Scan(SpaceTokens, "", func(id string, text []byte) error {
		v := storedToken{}
		if json.Unmarshal(text, &v) == nil {
			v.ID = id
			list = append(list, v)
		}
		return nil
	})
	return list, err
}

// Create makes a token from its name, scope and expiry, and returns it with
// its secret, which cannot be had again. Errors: invalid_argument, and
// conflict for a name that is taken or a token beyond the hundredth.
func (t NamedTokens) Create(want sandrone.Token) (sandrone.Token, string, error) {
	if err := want.Normalise(t.tx.now); err != nil {
		return sandrone.Token{}, "", err
	}
	stored, err := t.stored()
	if err != nil {
		return sandrone.Token{}, "", err
	}
	if slices.ContainsFunc(stored, func(s storedToken) bool { return s.Name == want.Name }) {
		return sandrone.Token{}, "", about(sandrone.Errorf(sandrone.Conflict, "a token of that name exists").At("name"), sandrone.KindToken, want.Name)
	}
	if len(stored) >= maxTokens {
		return sandrone.Token{}, "", sandrone.Errorf(sandrone.Conflict, "there are %d tokens, which is the most", maxTokens)
	}
	id, err := t.tx.randomHex(8)
	if err != nil {
		return sandrone.Token{}, "", err
	}
	random := make([]byte, 32)
	if _, err := io.ReadFull(t.tx.store.rand, random); err != nil {
		return sandrone.Token{}, "", internal("no random numbers", err)
	}
	secret := secretPrefix + base64.RawURLEncoding.EncodeToString(random)
	hash := sha256.Sum256([]byte(secret))
	token := sandrone.Token{ID: "tk_" + id, Name: want.Name, Scope: want.Scope, CreatedAt: t.tx.now, ExpiresAt: want.ExpiresAt}
	return token, secret, put(t.tx.kv, SpaceTokens, token.ID, storedToken{token, hex.EncodeToString(hash[:])})
}

// Find returns the token with a secret, if there is one that has not expired.
// How long it takes tells nothing of the stored secrets.
func (t NamedTokens) Find(secret string) (token sandrone.Token, ok bool, err error) {
	if len(secret) != secretLength || !strings.HasPrefix(secret, secretPrefix) {
		return token, false, nil
	}
	stored, err := t.stored()
	sum := sha256.Sum256([]byte(secret))
	hash := []byte(hex.EncodeToString(sum[:]))
	for i := range stored {
		if subtle.ConstantTimeCompare([]byte(stored[i].SHA256), hash) == 1 {
			token, ok = stored[i].Token, true
		}
	}
	if !ok || token.ExpiredAt(t.tx.now) {
		return sandrone.Token{}, false, err
	}
	return token, true, err
}

// UseIsDue reports whether a use of the token now is to be noted with
// [NamedTokens.Used], which is at most once a minute.
func (t NamedTokens) UseIsDue(token sandrone.Token) bool {
	return t.tx.now.Sub(token.LastUsedAt) >= tokenUsePeriod
}

// Used notes a use of a token. One that is gone, or was used in the minute
// before, is left alone.
func (t NamedTokens) Used(id string) error {
	text, err := t.get(id)
	if err != nil || text == nil {
		return err
	}
	v := storedToken{}
	if json.Unmarshal(text, &v) != nil || !t.UseIsDue(v.Token) {
		return nil
	}
	v.LastUsedAt = t.tx.now
	return put(t.tx.kv, SpaceTokens, id, v)
}

// Delete removes a token: not_found if there is none with that id.
func (t NamedTokens) Delete(id string) error {
	text, err := t.get(id)
	if err != nil {
		return err
	}
	if text == nil {
		return notFound(sandrone.KindToken, id)
	}
	return t.tx.kv.Delete(SpaceTokens, id)
}

func (t NamedTokens) get(id string) ([]byte, error) {
	if sandrone.CheckName("id", id) != nil {
		return nil, nil
	}
	return t.tx.kv.Get(SpaceTokens, id)
}
