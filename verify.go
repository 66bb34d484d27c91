package sandrone

// Verdict is what an installed client said of a file that it checked.
type Verdict struct {
	OK          bool      `json:"ok"`
	Kind        string    `json:"kind"` // of the file, without @version
	Core        string    `json:"core"` // "mihomo", "sing-box", "xray"
	CoreVersion string    `json:"core_version,omitempty"`
	Message     string    `json:"message"`          // first error of the client, one line of at most 1 KiB; empty if OK
	Output      string    `json:"output,omitempty"` // all that it said, at most 8 KiB
	DurationMS  int64     `json:"duration_ms"`
	SHA256      string    `json:"sha256"` // of the bytes that were checked, in hex
	Warnings    []Warning `json:"warnings"`
}
