package store

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// Limits of an archive.
const (
	maxArchive  = 32 << 20 // bytes compressed
	maxDecoded  = 64 << 20 // bytes of all members, the manifest included
	maxEntries  = 10_000   // members but for the manifest
	maxManifest = 64 << 10 // bytes; a larger one has members that do not belong there
)

const (
	backupFormat  = "sandrone-store-backup"
	backupSchema  = 1
	manifestName  = "manifest.json"
	archivePrefix = "data/"
)

// notInArchives are the logical keys that neither a backup nor a restore
// touches.
var notInArchives = []string{"cache", "revisions", "tokens", "access"}

// Manifest says what an archive is.
type Manifest struct {
	Format               string    `json:"format"`
	StorageSchemaVersion int       `json:"storage_schema_version"`
	CreatedAt            time.Time `json:"created_at"`
	AppVersion           string    `json:"app_version"`
}

// Counts are the numbers of definitions, readable or not.
type Counts struct {
	Subscriptions int
	Files         int
	Shares        int
	Settings      bool // settings are stored
	Other         int  // keys that are kept and mean nothing to this version
}

func (c *Counts) add(key string) {
	if key == settingsKey {
		c.Settings = true
		return
	}
	for kind, n := range map[string]*int{
		sandrone.KindSubscription: &c.Subscriptions,
		sandrone.KindFile:         &c.Files,
		sandrone.KindShare:        &c.Shares,
	} {
		if strings.HasPrefix(key, kindPrefix(kind)) {
			if _, ok := nameOf(kind, key); ok {
				*n++
				return
			}
		}
	}
	c.Other++
}

// Counts counts what a backup would hold and a restore would replace.
func (tx *Tx) Counts() (c Counts, err error) {
	err = tx.kv.Scan(SpaceResources, "", func(key string, _ []byte) error {
		c.add(key)
		return nil
	})
	return c, err
}

// Backup returns an archive of all definitions and the settings, of one
// moment. It holds their secrets in clear text. Caches, revisions, tokens and
// access records are not part of it. The archive is made as a whole before
// anything of it is sent: a slow receiver would hold back writers.
func (s *Store) Backup(ctx context.Context) ([]byte, error) {
	var archive bytes.Buffer
	err := s.View(ctx, func(tx *Tx) error {
		z := zip.NewWriter(&archive)
		manifest, err := encode(Manifest{backupFormat, backupSchema, tx.now.Truncate(time.Second), sandrone.ThisBuild().Version})
		if err != nil {
			return err
		}
		if err := addMember(z, manifestName, manifest, tx.now); err != nil {
			return err
		}
		err = tx.kv.Scan(SpaceResources, "", func(key string, value []byte) error {
			return addMember(z, archivePrefix+key, value, tx.now)
		})
		if err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, internal("backup export failed", err)
	}
	return archive.Bytes(), nil
}

func addMember(z *zip.Writer, name string, content []byte, at time.Time) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
	h.SetMode(0o600)
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// Archive is a backup that was read and found valid.
type Archive struct {
	Manifest Manifest
	Counts   Counts
	keys     []string // in order
	values   [][]byte
}

// ReadArchive reads a backup and checks all of it. The errors are
// backup_invalid, backup_incompatible for one of another schema version, and
// backup_too_large: more than 32 MiB, 64 MiB unpacked, or 10,000 members.
func (s *Store) ReadArchive(r io.Reader) (*Archive, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxArchive+1))
	switch {
	case err != nil:
		if e, ok := errors.AsType[*sandrone.Error](err); ok {
			return nil, e // a body that is too late, for example
		}
		return nil, badArchive("the backup could not be read").Because(err)
	case len(text) > maxArchive:
		return nil, tooLarge("the backup exceeds %d bytes", maxArchive)
	case len(text) == 0:
		return nil, badArchive("the backup is empty")
	}
	// The directory is read into memory before its length is known, so members
	// are counted first. Their signature may occur by chance, but not often.
	if bytes.Count(text, []byte("PK\x01\x02")) > 2*maxEntries {
		return nil, tooLarge("the backup has more than %d entries", maxEntries)
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // paths are checked below
		return nil, badArchive("the backup is not a ZIP archive").Because(err)
	}
	a := &Archive{}
	if err := a.read(z); err != nil {
		return nil, err
	}
	if i, found := slices.BinarySearch(a.keys, settingsKey); found {
		if _, err := s.decodeSettings(a.values[i]); err != nil {
			return nil, badArchive("the settings in the backup cannot be used").Because(err)
		}
	}
	return a, nil
}

func (a *Archive) read(z *zip.Reader) error {
	members := make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		if f.Mode()&^0o777 != 0 || strings.HasSuffix(f.Name, "/") {
			return badArchive("the backup has a member that is not a plain file")
		}
		if key, ok := strings.CutPrefix(f.Name, archivePrefix); f.Name != manifestName && !(ok && isArchived(key)) {
			return badArchive("the backup has a member whose name is not allowed")
		}
		if members[f.Name] != nil {
			return badArchive("the backup has two members of one name")
		}
		members[f.Name] = f
	}
	manifest := members[manifestName]
	if manifest == nil {
		return badArchive("the backup has no manifest")
	}
	delete(members, manifestName)
	if len(members) > maxEntries {
		return tooLarge("the backup has more than %d entries", maxEntries)
	}
	left := int64(maxDecoded)
	text, err := readMember(manifest, min(left, maxManifest))
	if err != nil {
		if sandrone.AsError(err).Code == sandrone.BackupTooLarge {
			return badManifest()
		}
		return err
	}
	left -= int64(len(text))
	if a.Manifest, err = readManifest(text); err != nil {
		return err
	}
	for name := range members {
		a.keys = append(a.keys, strings.TrimPrefix(name, archivePrefix))
	}
	// With the lowest byte for the separator, which no key has, the keys below
	// another one follow it directly.
	paths := make([]string, len(a.keys))
	for i, key := range a.keys {
		paths[i] = strings.ReplaceAll(key, "/", "\x00")
	}
	slices.Sort(paths)
	for i := range paths[:max(0, len(paths)-1)] {
		if strings.HasPrefix(paths[i+1], paths[i]+"\x00") {
			return badArchive("the backup has a key that lies below another key")
		}
	}
	slices.Sort(a.keys)
	for _, key := range a.keys {
		value, err := readMember(members[archivePrefix+key], left)
		if err != nil {
			return err
		}
		left -= int64(len(value))
		a.values = append(a.values, value)
		a.Counts.add(key)
	}
	return nil
}

// readMember reads at most limit bytes, whatever the archive says of the size.
func readMember(f *zip.File, limit int64) ([]byte, error) {
	if f.Flags&1 != 0 {
		return nil, badArchive("the backup has an encrypted member")
	}
	r, err := f.Open()
	if err != nil {
		return nil, badArchive("the backup has a member that cannot be read").Because(err)
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case int64(len(content)) > limit:
		return nil, tooLarge("the backup exceeds %d bytes unpacked", maxDecoded)
	case err != nil:
		return nil, badArchive("the backup has a member that cannot be read").Because(err)
	}
	return content, nil
}

// readManifest takes exactly the four members, each once and not null.
func readManifest(text []byte) (m Manifest, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return m, badManifest()
	}
	given := make(map[string]any)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return m, badManifest()
		}
		key := name.(string) // within an object the decoder gives nothing else
		var v any
		if err := dec.Decode(&v); err != nil {
			return m, badManifest()
		}
		if _, twice := given[key]; twice {
			return m, badManifest()
		}
		given[key] = v
	}
	if _, err := dec.Token(); err != nil {
		return m, badManifest()
	}
	if _, err := dec.Token(); err != io.EOF {
		return m, badManifest()
	}
	format, _ := given["format"].(string)
	number, _ := given["storage_schema_version"].(json.Number)
	version, err := number.Int64()
	if format != backupFormat || err != nil {
		return m, badManifest()
	}
	// Before the other members: those of another version are not known here.
	if version != backupSchema {
		return m, sandrone.Errorf(sandrone.BackupIncompatible, "the backup has storage schema version %d, and this program reads %d", version, backupSchema)
	}
	createdText, _ := given["created_at"].(string)
	created, err := time.Parse(time.RFC3339, createdText)
	if _, offset := created.Zone(); err != nil || offset != 0 {
		return m, badManifest()
	}
	app, _ := given["app_version"].(string)
	if strings.TrimSpace(app) == "" || len(given) != 4 {
		return m, badManifest()
	}
	return Manifest{format, backupSchema, created.UTC(), app}, nil
}

// isArchived reports whether key can be a logical key of an archive.
func isArchived(key string) bool {
	if len(key) > maxKey || strings.ContainsAny(key, "\x00\\") || len(key) > 1 && key[1] == ':' && isLetter(key[0]) {
		return false
	}
	for i, segment := range strings.Split(key, "/") {
		if segment == "" || segment == "." || segment == ".." || i == 0 && slices.Contains(notInArchives, segment) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Restore replaces everything that a backup covers, in one transaction:
// definitions that the archive lacks disappear, missing settings become the
// defaults. Caches, revisions and access records are dropped, tokens stay.
func (s *Store) Restore(ctx context.Context, a *Archive) error {
	return s.Update(ctx, func(tx *Tx) error {
		for _, space := range []Space{SpaceResources, SpaceRevisions, SpaceRevisionIndex, SpaceAccesses} {
			if err := tx.kv.Clear(space); err != nil {
				return err
			}
		}
		for i, key := range a.keys {
			if err := tx.kv.Put(SpaceResources, key, a.values[i]); err != nil {
				return err
			}
		}
		return tx.ClearCache(Layers...)
	})
}

func badArchive(text string) *sandrone.Error {
	return sandrone.Errorf(sandrone.BackupInvalid, "%s", text)
}

func badManifest() *sandrone.Error { return badArchive("the manifest of the backup is not valid") }

func tooLarge(format string, args ...any) *sandrone.Error {
	return sandrone.Errorf(sandrone.BackupTooLarge, format, args...)
}
