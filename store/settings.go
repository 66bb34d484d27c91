package store

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

const settingsKey = "settings.json"

// SettingsRecord is the stored settings object. Get it from a [Tx].
type SettingsRecord struct{ tx *Tx }

// Settings are the stored settings.
func (tx *Tx) Settings() SettingsRecord { return SettingsRecord{tx} }

// Get returns the settings and their entity tag: the defaults if none are
// stored. Settings that cannot be used are an error.
func (r SettingsRecord) Get() (sandrone.Settings, string, error) {
	text, err := r.tx.kv.Get(SpaceResources, settingsKey)
	if err != nil {
		return sandrone.Settings{}, "", err
	}
	s := sandrone.DefaultSettings()
	if text != nil {
		if s, err = r.tx.store.decodeSettings(text); err != nil {
			return sandrone.Settings{}, "", err
		}
	}
	// Not that of the stored text: every member is served, also one that an
	// older version did not write.
	served, err := encode(s)
	return s, etag(served), err
}

// Put checks s and stores it as a whole. It clears the caches of renders.
// Errors: invalid_argument, precondition_failed.
func (r SettingsRecord) Put(s sandrone.Settings, pre Precondition) (string, error) {
	s, err := r.tx.store.checkSettings(s)
	if err != nil {
		return "", err
	}
	fillLists(&s)
	if pre.IfMatch != nil {
		old, _, err := r.Get()
		if err != nil {
			return "", err
		}
		served, err := encode(old)
		if err != nil {
			return "", err
		}
		if err := (Precondition{IfMatch: pre.IfMatch}).check("settings", "", true, served); err != nil {
			return "", err
		}
	}
	text, err := encode(s)
	if err != nil {
		return "", err
	}
	if err := r.tx.kv.Put(SpaceResources, settingsKey, text); err != nil {
		return "", err
	}
	return etag(text), r.tx.ClearCache(SubscriptionRender, FileRender)
}

// decodeSettings reads stored settings. Unknown members are ignored, missing
// ones take their defaults; whatever else is wrong is an error, since a
// program that starts with half its settings could open what was closed.
func (s *Store) decodeSettings(text []byte) (sandrone.Settings, error) {
	v := sandrone.DefaultSettings()
	if err := json.Unmarshal(text, &v); err != nil {
		return v, internal("the stored settings cannot be read", err)
	}
	if v.SchemaVersion != 1 {
		return v, sandrone.Errorf(sandrone.InternalError, "the stored settings have an unknown schema_version")
	}
	fillLists(&v)
	checked, err := s.checkSettings(v)
	if err != nil {
		e := internal("the stored settings cannot be used", err)
		if c := sandrone.AsError(err); c.Field != "" {
			e.Message += ": " + c.Message
			e.Field = c.Field
		}
		return v, e
	}
	return checked, nil
}

// fillLists makes absent lists empty ones, as they are served.
func fillLists(s *sandrone.Settings) {
	if s.HTTP.TrustedProxies == nil {
		s.HTTP.TrustedProxies = []string{}
	}
	if s.RemoteDefaults.AllowHosts == nil {
		s.RemoteDefaults.AllowHosts = []string{}
	}
	if s.ScheduledRefresh.Targets == nil {
		s.ScheduledRefresh.Targets = []sandrone.ResourceRef{}
	}
}
