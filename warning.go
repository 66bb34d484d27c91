package sandrone

import "strings"

// Warning rides along with a result that succeeded: what was lost, changed or
// left out, at which node and for which target. Branch on Code; Message is for
// people, one English line of at most 200 characters that never holds a
// credential, a whole link or a path of the host.
type Warning struct {
	Code           string       `json:"code"`
	Message        string       `json:"message"`
	Node           string       `json:"node,omitempty"`            // display name
	NodeIndex      *int         `json:"node_index,omitempty"`      // zero-based in the source batch
	NodeContext    *NodeContext `json:"node_context,omitempty"`    // what is known of a node that was left out
	Field          string       `json:"field,omitempty"`           // dotted path in [Node], or the full raw key
	Source         string       `json:"source,omitempty"`          // input or stage
	Target         string       `json:"target,omitempty"`          // output format as asked for, with its @version
	Path           string       `json:"path,omitempty"`            // JSON Pointer into a document
	ProcessorIndex *int         `json:"processor_index,omitempty"` // zero-based step
	Cause          string       `json:"cause,omitempty"`           // error code behind remote_stale
	AgeSeconds     int64        `json:"age_seconds,omitempty"`     // age of the copy behind remote_stale
}

// maxLabel is how much of a name a warning repeats. A node may have a name of
// megabytes and a hundred thousand warnings.
const maxLabel = 256 // bytes

// Label is the node's name as warnings show it: whole up to 256 bytes, then
// cut.
func (n *Node) Label() string {
	if len(n.Name) <= maxLabel {
		return n.Name
	}
	return strings.ToValidUTF8(n.Name[:maxLabel], "") + "…"
}

// NodeContext is what a parser knew of an entry that became no node.
type NodeContext struct {
	Format  string `json:"format,omitempty"`
	Name    string `json:"name,omitempty"`
	Type    Type   `json:"type,omitempty"`
	Server  string `json:"server,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	Raw     Raw    `json:"raw,omitempty"`
	RawLine string `json:"raw_line,omitempty"`
	Line    int    `json:"line,omitempty"` // one-based
}

// Warning codes of parsing, normalisation, validation, rendering and of a check by
// a client.
const (
	WarnLineFailed        = "parse_line_failed"                 // a list line looked like a node and could not be read
	WarnLineSkipped       = "parse_line_skipped"                // a list line that is deliberately no node
	WarnProxySkipped      = "parse_proxy_skipped"               // an entry of a mihomo-like file could not be read
	WarnOutboundSkipped   = "parse_outbound_skipped"            // an entry of a JSON client file could not be read
	WarnUnknownField      = "parse_unknown_field"               // a member is kept in raw only
	WarnAliasConflict     = "parse_alias_conflict"              // two spellings of one field disagree; the canonical one won
	WarnImplicitRateUnit  = "parse_implicit_bandwidth_unit"     // the unit of a rate was assumed
	WarnIncompatibleFlow  = "node_normalized_incompatible_flow" // a VLESS flow that the transport rules out was removed
	WarnValidationDropped = "node_validation_dropped"           // an invalid node was removed
	WarnLossyField        = "render_lossy_field"                // an optional field is not expressible in the target
	WarnNodeSkipped       = "render_node_skipped"               // leaving the field out would change the connection
	WarnNodeRenamed       = "render_node_renamed"               // the name was changed for syntax or uniqueness
	WarnNoShareLink       = "uri_profile_unsupported"           // the type has no share link
	WarnGroupEmpty        = "file_group_empty"                  // a group of a file has no members; the direct way out became its member
	WarnReferenceUnknown  = "file_reference_unknown"            // a member, rule or default that names nothing was left out
	WarnGroupCycle        = "file_group_cycle"                  // groups contain each other; the member that closes the circle was left out
	WarnRuleUnreachable   = "file_rule_unreachable"             // a rule stands behind one that matches everything
	WarnRemoteStale       = "remote_stale"                      // a source failed and its last good copy was used
	WarnDryRunSkipped     = "dry_run_step_skipped"              // a dry run passed over a step that asks the network
	WarnVerifyVersion     = "verify_core_version"               // the core is not of the version that the file is written for
	WarnVerifyGeoData     = "verify_geo_data_missing"           // stand-ins took the place of geo data
	WarnVerifyFailed      = "verify_failed"                     // the client refused the file; the message is its verdict
)
