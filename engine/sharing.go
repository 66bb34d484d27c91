package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"mime"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"filippo.io/age"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// ShareRequest is one public read of a share.
type ShareRequest struct {
	ID          string
	Filename    string // as in the path; checked if HasFilename
	HasFilename bool
	Format      string            // overrides the format of a share of a subscription
	Args        map[string]string // for the processors
	IfNoneMatch []string          // entity tags, or "*": an answer that has one of them is NotModified

	// From whom the request is, for the access record.
	ClientAddress string
	UserAgent     string

	// Slot bounds work that no cache holds. It is called before such work,
	// waits for its turn and returns how to give it back, or an error, which
	// becomes the answer. nil does not bound. Requests for the same work share
	// the slot of the first.
	Slot Slot
}

// Slot waits for its turn. What it returns gives the place free again.
type Slot func(ctx context.Context) (release func(), err error)

// Shared is the answer to a public read that succeeded.
type Shared struct {
	Body         []byte
	ContentType  string            // safe to show: never a document that a browser would run
	OriginalType string            // of the encrypted body; empty if it is not encrypted
	Filename     string            // canonical, with the extension of its format
	ETag         string            // strong; empty if encrypted
	NotModified  bool              // Body is empty, since the reader has it
	Header       map[string]string // what clients read of the subscription; ASCII, no line ends
	Stale        int64             // age in seconds of the last good copy that was used; 0 if none was
}

// SharedRead answers a public read of a share, and notes it in the access
// record. All that a stranger must not tell apart is not_found with one text:
// an id that is unknown, a share that is no longer or not yet valid, a target
// that is gone. Other errors have their code and a text that is the same for
// every share, and no other member.
func (e *Engine) SharedRead(ctx context.Context, req ShareRequest) (*Shared, error) {
	var share *sandrone.Share
	known := false
	err := e.view(ctx, func(tx *store.Tx) (err error) {
		if known, err = tx.Shares().Exists(req.ID); err != nil || !known {
			return err
		}
		record, err := tx.Shares().Get(req.ID)
		share = record.Definition
		return err
	})
	var shared *Shared
	switch {
	case sandrone.CheckName("id", req.ID) != nil:
		err = sandrone.Errorf(sandrone.NotFound, "share not found")
	case err != nil:
	case !known || !share.ValidAt(e.now()):
		err = sandrone.Errorf(sandrone.NotFound, "share not found")
	default:
		shared, err = e.share(ctx, share, &req)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // nobody gets an answer
	}
	status := 200
	if err != nil {
		err = e.publicError(err)
		status = sandrone.AsError(err).Code.Status()
	} else if shared.NotModified {
		status = 304
	}
	if known { // or strangers could fill the memory
		e.noteAccess(ctx, req.ID, sandrone.ShareAccess{Time: e.now(), ClientAddress: req.ClientAddress, UserAgent: req.UserAgent, Status: status})
	}
	return shared, err
}

// publicError takes from an error what is not for strangers. What is behind it
// goes to the log.
func (e *Engine) publicError(err error) *sandrone.Error {
	inner := sandrone.AsError(err)
	public := sandrone.Errorf(inner.Code, "%s", publicText(inner.Code))
	switch inner.Code {
	case sandrone.NotFound, sandrone.InvalidArgument, sandrone.Busy:
		// The reader's own doing, of which the access log tells enough.
	default:
		e.log.Warn("a share was not served", "operation", "share", "code", string(inner.Code), "error", inner.Message)
		public.Because(inner)
	}
	return public
}

func publicText(code sandrone.Code) string {
	switch code {
	case sandrone.NotFound:
		return "share not found"
	case sandrone.InvalidArgument:
		return "the request is not valid for this share"
	case sandrone.Busy:
		return "too much at once, try again"
	case sandrone.FetchFailed, sandrone.FetchForbidden:
		return "a source could not be fetched"
	case sandrone.FetchTimeout:
		return "a source did not answer in time"
	case sandrone.InternalError:
		return "internal error"
	}
	return "the share could not be made"
}

// share makes the answer of a share that is valid.
func (e *Engine) share(ctx context.Context, s *sandrone.Share, req *ShareRequest) (*Shared, error) {
	work := &shareWork{kind: s.TargetKind, name: s.TargetName, args: req.Args}
	var filename string
	settled := true // the name is known before the text is
	if s.TargetKind == sandrone.KindSubscription {
		work.format = s.TargetFormat
		if strings.TrimSpace(req.Format) != "" {
			work.format = req.Format
		}
		target, err := e.registry.Target(work.format)
		if err != nil {
			return nil, err
		}
		filename = subscriptionShareName(s, target.Extension)
	} else {
		filename, settled = fileShareName(s, "")
	}
	if settled && req.HasFilename && req.Filename != filename {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "the file name is not that of the share")
	}

	text, _, err := e.sharing.do(ctx, work.key(e.changes.Load()), func(ctx context.Context) (*Rendering, error) {
		return e.render(withSlot(ctx, req.Slot), work)
	})
	if err != nil {
		return nil, err
	}
	if !settled {
		filename, _ = fileShareName(s, text.Name)
		if req.HasFilename && req.Filename != filename {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "the file name is not that of the share")
		}
	}

	shared := &Shared{Body: text.Body, ContentType: text.ContentType, Filename: filename, Stale: text.Stale}
	if s.ContentType != "" {
		shared.ContentType = s.ContentType
	}
	shared.ContentType = inertType(shared.ContentType)
	if s.AgeRecipient != "" {
		shared.OriginalType, shared.ContentType = inertType(text.ContentType), "application/age"
		shared.Body, err = encrypt(text.Body, s.AgeRecipient)
		return shared, err
	}
	shared.Header = clientHeader(s, text)
	sum := sha256.Sum256(text.Body)
	shared.ETag = `"` + hex.EncodeToString(sum[:16]) + `"`
	if slices.ContainsFunc(req.IfNoneMatch, func(tag string) bool {
		// A proxy that compresses makes a tag weak; for a read it is as good.
		return tag == "*" || strings.TrimPrefix(tag, "W/") == shared.ETag
	}) {
		shared.Body, shared.NotModified = nil, true
	}
	return shared, nil
}

// shareWork is what a public read has made.
type shareWork struct {
	kind, name, format string
	args               map[string]string
}

// key tells equal work. What was begun before a change of definitions is not
// equal to what is asked for after it.
func (w *shareWork) key(changes uint64) store.Key {
	parts := []string{w.kind, w.name, word(w.format), strconv.FormatUint(changes, 10)}
	for _, arg := range slices.Sorted(maps.Keys(w.args)) {
		parts = append(parts, arg, w.args[arg])
	}
	return store.KeyOf(parts...)
}

func (e *Engine) render(ctx context.Context, w *shareWork) (*Rendering, error) {
	if w.kind == sandrone.KindFile {
		return e.ReadFile(ctx, FileRequest{Name: w.name, Mode: FileRender, Args: w.args})
	}
	return e.RenderSubscription(ctx, RenderRequest{Name: w.name, Format: w.format, Args: w.args})
}

type slotKey struct{}

func withSlot(ctx context.Context, s Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// takeSlot waits for the turn of work that no cache holds, if it is part of a
// public read, and returns the context for that work: what is done within it
// needs no further turn.
func takeSlot(ctx context.Context) (within context.Context, release func(), err error) {
	slot, _ := ctx.Value(slotKey{}).(Slot)
	if slot == nil {
		return ctx, func() {}, nil
	}
	release, err = slot(ctx)
	return withSlot(ctx, nil), release, err
}

const defaultUpdateHours = 24

// clientHeader is what proxy clients read of a subscription: its title, how
// often to come back, and what its source says of the plan. A file has none,
// unless it is made from one subscription.
func clientHeader(s *sandrone.Share, text *Rendering) map[string]string {
	if s.TargetKind == sandrone.KindFile && !text.OneSource {
		return nil
	}
	header := map[string]string{
		"profile-title":           titleHeader(cmp.Or(s.Name, text.Title)),
		"profile-update-interval": strconv.Itoa(defaultUpdateHours),
	}
	profile := text.Profile
	if profile == nil {
		return header
	}
	if profile.UpdateIntervalHours > 0 {
		header["profile-update-interval"] = strconv.Itoa(profile.UpdateIntervalHours)
	}
	if t := profile.Traffic; t != nil {
		usage := "upload=" + strconv.FormatInt(t.UploadBytes, 10) + "; download=" + strconv.FormatInt(t.DownloadBytes, 10)
		if t.TotalBytes != nil {
			usage += "; total=" + strconv.FormatInt(*t.TotalBytes, 10)
		}
		if !t.ExpiresAt.IsZero() {
			usage += "; expire=" + strconv.FormatInt(t.ExpiresAt.Unix(), 10)
		}
		header["subscription-userinfo"] = usage
	}
	if u, err := url.Parse(profile.WebPage); err == nil && isHTTP(u) && u.Host != "" && isPrintable(profile.WebPage) {
		header["profile-web-page-url"] = profile.WebPage
	}
	return header
}

// titleHeader is text as the value of a header: other than printable ASCII goes
// as base64, which clients know by its prefix.
func titleHeader(text string) string {
	if isPrintable(text) && !strings.HasPrefix(text, "base64:") {
		return text
	}
	return "base64:" + base64.StdEncoding.EncodeToString([]byte(text))
}

func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

const plainText = "text/plain; charset=utf-8"

// inertType replaces the media types of documents that a browser would run
// scripts of.
func inertType(contentType string) string {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return plainText
	}
	_, subtype, _ := strings.Cut(mediaType, "/")
	if strings.Contains(subtype, "html") || subtype == "xml" || strings.HasSuffix(subtype, "+xml") || strings.HasSuffix(subtype, "xsl") {
		return plainText
	}
	return contentType
}

// encrypt writes text as a binary age file for one recipient. No two results
// are equal.
func encrypt(text []byte, recipient string) ([]byte, error) {
	key, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, sandrone.Errorf(sandrone.InternalError, "the recipient of the share cannot be used").Because(err)
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, key)
	if err == nil {
		if _, err = w.Write(text); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		return nil, sandrone.Errorf(sandrone.InternalError, "the share could not be encrypted").Because(err)
	}
	return b.Bytes(), nil
}

const (
	maxShareBase      = 128 // code points of a file name without its extension
	maxShareExtension = 16  // code points; what is longer is no extension
	ageExtension      = ".age"
)

// subscriptionShareName is the file name of a share of a subscription in a
// format with that extension.
func subscriptionShareName(s *sandrone.Share, extension string) string {
	base := ""
	for _, candidate := range []string{s.Name, s.TargetName, s.ID} {
		name := strings.TrimLeftFunc(safeCharacters(candidate), unicode.IsSpace)
		name, _ = cutSuffixFold(name, ageExtension)
		for _, known := range []string{".txt", ".yaml", ".yml", ".json", ".conf"} {
			if cut, ok := cutSuffixFold(name, known); ok {
				name = cut
				break
			}
		}
		if base = trimName(name); base != "" {
			break
		}
	}
	return withAge(s, trimName(firstRunes(orShare(base), maxShareBase))+extension)
}

// fileShareName is the file name of a share of a file. Without the name of the
// final document it is settled only if the names before it will do.
func fileShareName(s *sandrone.Share, document string) (name string, settled bool) {
	for i, candidate := range []string{s.Name, s.TargetName, document, s.ID} {
		if name = trimName(safeCharacters(candidate)); name != "" {
			settled = i < 2 || document != ""
			break
		}
	}
	name = orShare(name)
	if s.AgeRecipient != "" { // it gets the one suffix back below
		if cut, _ := cutSuffixFold(name, ageExtension); trimName(cut) != "" {
			name = cut
		}
	}
	extension := path.Ext(name)
	if utf8.RuneCountInString(extension) > maxShareExtension {
		extension = ""
	}
	base := firstRunes(strings.TrimSuffix(name, extension), maxShareBase)
	return withAge(s, orShare(trimName(base))+extension), settled
}

// safeCharacters replaces what some file system takes for more than a name.
func safeCharacters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune(`<>:"/\|?*`, r) {
			return '_'
		}
		return r
	}, name)
}

// trimName takes blanks and dots from both ends: some systems drop them, and a
// leading dot hides the file.
func trimName(name string) string {
	return strings.TrimFunc(name, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
}

func orShare(name string) string {
	if name == "" {
		return "share"
	}
	return name
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

func withAge(s *sandrone.Share, name string) string {
	if s.AgeRecipient == "" {
		return name
	}
	return name + ageExtension
}
