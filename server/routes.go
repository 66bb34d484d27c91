package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/files/preset"
)

// route is one method of one path. A GET route answers HEAD too.
type route struct {
	method  string
	pattern string
	scope   scope
	handle  handler
	operation
}

// handler answers a request, or returns the error to answer with, having
// written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

// routes is the whole table: what is served, to whom, and what the OpenAPI
// document says of it.
func (s *Server) routes() []route {
	return slices.Concat(
		s.basicRoutes(),
		s.discoveryRoutes(),
		s.subscriptionRoutes(),
		s.fileRoutes(),
		s.shareRoutes(),
		s.operationRoutes(),
		s.ownerRoutes(),
	)
}

func (s *Server) basicRoutes() []route {
	routes := []route{
		{"GET", "/healthz", public, s.getHealth, operation{about: "Say that the process answers", answer: health{}, example: `{"ok":true}`}},
		{"GET", "/version", public, s.getVersion, operation{about: "Tell which program this is", answer: sandrone.Build{}, example: `{"name":"sandrone","version":"0.1.0","revision":""}`}},
		{"GET", "/convert", public, s.getConvert, operation{
			about: "Convert nodes, for anyone",
			query: []parameter{
				{"content", "the nodes as text, at most 64 KiB", false},
				{"url", "where to fetch the nodes; exactly one of content and url", false},
				{"to_format", "render format, with an optional @version", true},
				{"from_format", "parse format, or auto", false},
				{"response", "json: the text in an envelope with its warnings", false},
			},
			answer: anyMedia, errors: append([]sandrone.Code{sandrone.RateLimited, sandrone.RouteNotFound}, producing...), example: `"proxies: []\n"`,
		}},
		{"GET", "/metrics", owner, s.getMetrics, operation{about: "Show all figures in the text form of Prometheus", answer: mediaType("text/plain"), example: `"go_goroutines 12\n"`}},
		{"POST", "/v1/convert", read, s.postConvert, operation{
			about: "Convert nodes, with a report", body: engine.ConvertRequest{}, answer: reported{}, errors: producing,
			example: `{"to_format":"mihomo-proxies","from_format":"uri-list","content":"trojan://secret@a.example:443#one"}`,
		}},
	}
	// No part of the HTTP API: its protocol describes it.
	routes = append(routes, route{method: "POST", pattern: s.engine.Settings().MCP.Path, scope: read, handle: s.postMCP})
	if s.ui != nil {
		routes = append(routes, route{method: "GET", pattern: "/", scope: public, handle: s.getPage})
	}
	return routes
}

func (s *Server) discoveryRoutes() []route {
	return []route{
		{"GET", "/v1/inspect", read, s.getInspect, operation{about: "Tell what this process can do, and what the caller may", answer: inspection{}, example: `{"formats":{"parse":["uri-list"],"render":["uri-list"]},"processors":{"nodes":["sort"],"file":["script"]},"file_kinds":["static"],"probe":{"methods":["tcp_connect"],"backends":[{"method":"tcp_connect","name":"tcp_connect"}]},"store":{"configured":true,"subscriptions":0,"files":0},"catalogs":{"formats":"/v1/capabilities/formats"},"scope":"owner"}`}},
		{"GET", formatsPath, read, s.getFormats, operation{about: "List the node formats", answer: catalog.Index{}, example: `{"items":[{"direction":"render","format":"json-nodes","node_types":["ss"],"reversible":true,"field_counts":{"supported":1,"lossy":0,"raw_only":0},"revisions":[],"href":"/v1/capabilities/formats/render/json-nodes"}]}`}},
		{"GET", formatPath("{direction}", "{format}"), read, s.getFormat, operation{about: "Tell what a format does with each field", answer: catalog.Detail{}, example: `{"format":"json-nodes","direction":"render","types":["ss"],"reversible":true,"fields":[],"lossy":[],"raw_only":[]}`}},
		{"GET", "/v1/capabilities/ui", read, s.getFeatures, operation{about: "List the switches of the page", answer: catalog.Features{}, example: `{"features":[{"key":"core.mihomo","enabled":false,"reason":"mihomo is not installed"}]}`}},
		{"GET", schemasPath, read, s.getSchemas, operation{about: "List the schema documents", answer: catalog.SchemaIndex{}, example: `{"schemas":[{"name":"processors","description":"The steps that transform nodes and files.","href":"/v1/schemas/processors"}]}`}},
		{"GET", schemaPaths[catalog.SchemaProcessors], read, s.getProcessors, operation{about: "List the types of steps", answer: catalog.ProcessorIndex{}, example: `{"processors":[{"type":"sort","stage":"nodes","description":"Sorts the nodes.","effects":{},"href":"/v1/schemas/processors/nodes/sort"}]}`}},
		{"GET", processorPath("{stage}", "{type}"), read, s.getProcessor, operation{about: "Tell what a step does and takes", answer: reflect.TypeOf((*catalog.Catalog).Processor).Out(0), example: `{"type":"sort","stage":"nodes","description":"Sorts the nodes.","params_schema":{"type":"object"},"effects":{},"examples":[{"type":"sort"}],"error_codes":["processor_config_invalid"]}`}},
		{"GET", schemaPaths[catalog.SchemaFileKinds], read, s.getFileKinds, operation{about: "List the kinds of files", answer: catalog.FileKindIndex{}, example: `{"file_kinds":[{"kind":"static","description":"A text.","settings_supported":false,"media_type":"application/octet-stream","syntax":"text","href":"/v1/schemas/file-kinds/static"}]}`}},
		{"GET", fileKindPath("{kind}"), read, s.getFileKind, operation{about: "Tell what a kind of file takes", answer: catalog.FileKind{}, example: `{"kind":"static","description":"A text.","settings_supported":false,"media_type":"application/octet-stream","syntax":"text","default_extension":".txt","source_rules":{"required":true,"allowed_types":["inline","remote"]},"defaults":{},"examples":[]}`}},
		{"GET", schemaPaths[catalog.SchemaScriptAPI], read, s.getScriptAPI, operation{about: "Describe what scripts get and may call", answer: object{}, example: `{"version":1,"methods":[]}`}},
		{"GET", schemaPaths[catalog.SchemaSubscription], read, s.getSubscriptionSchema, operation{about: "Describe the definition of a subscription", answer: object{}, example: `{"type":"object","required":["name","type"]}`}},
		{"GET", schemaPaths[catalog.SchemaFileSpec], read, s.getFileSchema, operation{about: "Describe the definition of a file", answer: object{}, example: `{"type":"object","required":["name","kind","source"]}`}},
		{"GET", openAPIPath, read, s.getOpenAPI, operation{about: "Describe this API", answer: object{}, example: `{"openapi":"3.1.0"}`, tagged: true}},
		{"GET", "/v1/rule-set-catalog", read, s.getRuleSets, operation{
			about: "List the public rule sets that a client can use", query: []parameter{{"target", "mihomo, sing-box or shadowrocket", true}}, answer: catalog.RuleSets{}, tagged: true,
			example: `{"items":[{"name":"Apple_Domain","url":"https://rules.example/Apple_Domain.list","rule_kind":"domain","reference_type":"DOMAIN-SET"}]}`,
		}},
		{"GET", "/v1/presets", read, s.getPresets, operation{
			about: "List what a new client file may begin with: bases, templates, regions, presets", query: []parameter{{"kind", "mihomo, sing-box or shadowrocket, with or without @version", true}, {"locale", "of names: en-US (default) or zh-CN", false}}, answer: preset.Set{}, tagged: true,
			example: `{"kind":"shadowrocket","items":[],"templates":[{"id":"minimal","group_count":5,"rule_set_count":4,"rule_count":7,"settings":{}}],"regions":[{"id":"hk","name":{"en-US":"Hong Kong","zh-CN":"香港"},"default_on":true,"pattern":"(?i)(?:香港)","exclude":""}],"bases":[{"id":"standard","content":"[General]\n"}]}`,
		}},
		{"POST", "/v1/presets/add", read, s.addPreset, operation{
			about: "Put a preset into a list of steps, after what it depends on and in place of what it conflicts with", body: catalog.AddPreset{}, answer: catalog.WithPreset{},
			example: `{"kind":"mihomo","preset":"linux-tun-acceleration","processors":[]}`,
		}},
		{"POST", "/v1/presets/regions", read, s.groupByRegion, operation{
			about: "Write groups by region into settings of a file", body: catalog.GroupByRegion{}, answer: catalog.GroupedByRegion{},
			example: `{"kind":"mihomo","settings":{"groups":[{"name":"Proxy","type":"select","proxies":["$nodes"]}]},"regions":["hk","jp"]}`,
		}},
	}
}

func (s *Server) subscriptionRoutes() []route {
	const list, one = "/v1/subscriptions", "/v1/subscriptions/{name}"
	return []route{
		{"GET", list, read, s.getSubscriptions, operation{about: "List the subscriptions", answer: itemList{}, example: `{"items":[{"kind":"subscription","type":"local","name":"air","size":64,"created_at":"2026-08-01T10:00:00Z","updated_at":"2026-08-01T10:00:00Z"}]}`}},
		{"POST", list, write, s.postSubscription, operation{
			about: "Create or overwrite a subscription", body: sandrone.Subscription{}, status: http.StatusCreated, answer: done{}, tagged: true, errors: writing,
			example: `{"name":"air","type":"remote","remote":{"url":"https://a.example/sub"},"processors":[{"type":"sort"}]}`,
		}},
		{"GET", one, read, s.getSubscription, operation{about: "Read the definition of a subscription", answer: sandrone.Subscription{}, tagged: true, errors: []sandrone.Code{sandrone.NotFound},
			example: `{"name":"air","type":"local","content":"trojan://secret@a.example:443#one"}`}},
		{"DELETE", one, write, s.deleteSubscription, operation{about: "Delete a subscription", answer: done{}, errors: []sandrone.Code{sandrone.NotFound, sandrone.PreconditionFailed}, example: `{"ok":true}`}},
		{"POST", one + "/preview", read, s.previewSubscription, operation{
			about: "Show the nodes of a subscription before and after its steps", query: []parameter{argParameter}, body: previewOptions{}, mayOmit: true, answer: engine.Preview{}, errors: producing,
			example: `{"args":{"region":"hk"},"target":"mihomo-proxies"}`,
		}},
		{"POST", one + "/traffic", read, s.subscriptionTraffic, operation{
			about: "Tell how much of its plan a remote subscription has used", body: trafficBody{}, mayOmit: true, answer: engine.TrafficAnswer{}, errors: producing,
			example: `{"refresh":true}`,
		}},
		{"POST", one + "/render", read, s.renderSubscription, operation{
			about: "Write the nodes of a subscription in a format", query: []parameter{argParameter}, body: renderBody{}, answer: reported{}, errors: producing,
			example: `{"format":"sing-box-outbounds@1.11"}`,
		}},
		{"POST", one + "/probe", read, s.probeSubscription, operation{
			about: "Probe the nodes of a subscription; a line of JSON for each", query: []parameter{argParameter}, body: probeBody{}, mayOmit: true, answer: mediaType("application/x-ndjson"), errors: producing,
			example: `{"method":"tcp_connect","concurrency":10}`,
		}},
		{"POST", "/v1/preview/subscription", read, s.previewDraft, operation{
			about: "Preview a subscription that is not stored", body: draftPreview{}, answer: engine.Preview{}, errors: producing,
			example: `{"subscription":{"name":"air","type":"local","content":"trojan://secret@a.example:443#one"},"trace":false}`,
		}},
	}
}

func (s *Server) fileRoutes() []route {
	const list, one = "/v1/files", "/v1/files/{name}"
	return []route{
		{"GET", list, read, s.getFiles, operation{about: "List the files", answer: itemList{}, example: `{"items":[{"kind":"file","type":"inline","name":"hello.txt","size":64,"target":"static","created_at":"2026-08-01T10:00:00Z","updated_at":"2026-08-01T10:00:00Z"}]}`}},
		{"POST", list, write, s.postFile, operation{
			about: "Create or overwrite a file", body: sandrone.FileSpec{}, status: http.StatusCreated, answer: done{}, tagged: true, errors: writing,
			example: `{"name":"hello.txt","kind":"static","source":{"type":"inline","content":"hello"}}`,
		}},
		{"GET", one, read, s.getFile, operation{
			about: "Read a file: its final text, its source or its definition",
			query: []parameter{
				{"mode", "render (default), source or spec", false},
				{"response", "json: the text in an envelope", false},
				{"report", "1: the envelope has the report", false},
				{"refresh", "true: read no cache", false},
				{"download", "1: to be kept and not shown", false},
				argParameter,
			},
			answer: anyMedia, tagged: true, errors: producing, example: `"hello\n"`,
		}},
		{"DELETE", one, write, s.deleteFile, operation{about: "Delete a file", answer: done{}, errors: []sandrone.Code{sandrone.NotFound, sandrone.PreconditionFailed}, example: `{"ok":true}`}},
		{"POST", one + "/verify", read, s.verifyFile, operation{
			about: "Have the installed client check the final text of a file", query: []parameter{argParameter}, body: verifyBody{}, mayOmit: true, answer: sandrone.Verdict{},
			errors:  append([]sandrone.Code{sandrone.ProbeCoreUnavailable, sandrone.ProbeCoreStartFailed}, producing...),
			example: `{"refresh":true}`,
		}},
		{"POST", "/v1/preview/file", read, s.previewFile, operation{
			about: "Show what a file that is not stored comes to, and what its steps do", body: fileDraft{}, answer: fileTrial{}, errors: append([]sandrone.Code{sandrone.ProbeCoreUnavailable, sandrone.ProbeCoreStartFailed}, producing...),
			example: `{"file":{"name":"m.yaml","kind":"mihomo","source":{},"config":{"subscriptions":["air"]}}}`,
		}},
	}
}

func (s *Server) shareRoutes() []route {
	const list, one = "/v1/shares", "/v1/shares/{id}"
	sharing := append([]sandrone.Code{sandrone.RateLimited}, producing...)
	query := []parameter{
		{"format", "render format in place of the share's, with an optional @version", false},
		{"download", "1: to be kept and not shown", false},
		argParameter,
	}
	return []route{
		{"GET", "/s/{id}", public, s.readShare, operation{about: "Read what a share gives", query: query, answer: anyMedia, tagged: true, errors: sharing, example: `"dHJvamFuOi8v…"`}},
		{"GET", "/s/{id}/{filename}", public, s.readShareAs, operation{about: "Read what a share gives, by its file name", query: query, answer: anyMedia, tagged: true, errors: sharing, example: `"dHJvamFuOi8v…"`}},
		{"GET", list, read, s.getShares, operation{about: "List the shares", answer: shareList{}, example: `{"shares":[{"id":"sh_5f0c","target_kind":"subscription","target_name":"air","target_format":"base64","access_count":3,"last_access_at":"2026-08-01T10:00:00Z","last_user_agent":"client/1","public_filename":"air.txt","format_filenames":{"base64":"air.txt"}}]}`}},
		{"POST", list, write, s.postShare, operation{
			about: "Create or overwrite a share", body: shareBody{}, status: http.StatusCreated, answer: shareAnswer{}, tagged: true,
			errors:  append([]sandrone.Code{sandrone.NotFound}, writing...),
			example: `{"target_kind":"subscription","target_name":"air","target_format":"base64"}`,
		}},
		{"GET", one, read, s.getShare, operation{about: "Read a share", answer: shareAnswer{}, example: `{"share":{"id":"sh_5f0c","target_kind":"subscription","target_name":"air","target_format":"base64","access_count":0}}`, tagged: true, errors: []sandrone.Code{sandrone.NotFound}}},
		{"GET", one + "/accesses", read, s.getShareAccesses, operation{about: "List the last reads of a share", answer: accessList{}, errors: []sandrone.Code{sandrone.NotFound},
			example: `{"items":[{"time":"2026-08-01T10:00:00Z","client_address":"192.0.2.1","user_agent":"client/1","status":200}]}`}},
		{"DELETE", one, write, s.deleteShare, operation{about: "Revoke a share", answer: done{}, errors: []sandrone.Code{sandrone.NotFound, sandrone.PreconditionFailed}, example: `{"ok":true}`}},
	}
}

func (s *Server) operationRoutes() []route {
	revisionQuery := []parameter{
		{"kind", "subscription, file or share", true},
		{"name", "of one resource; of a share its id", false},
		{"deleted", "1: only of resources that no longer exist", false},
		{"limit", "1 to 200, default 50", false},
		{"cursor", "next_cursor of the page before", false},
	}
	logQuery := []parameter{
		{"level", "the least one: debug, info (default), warn, error", false},
		{"q", "a part of the message or of an attribute, or /expression/", false},
		{"since", "an id or an RFC 3339 time; later entries only", false},
	}
	return []route{
		{"POST", "/v1/diagnose", read, s.postDiagnose, operation{
			about: "Tell what becomes of an input, stage by stage", body: engine.DiagnoseRequest{}, answer: engine.Diagnosis{},
			errors:  []sandrone.Code{sandrone.NotFound, sandrone.InputKindAmbiguous, sandrone.InputKindUnrecognized},
			example: `{"content":"trojan://secret@a.example:443#one","format":"uri-list","processors":[{"type":"sort"}]}`,
		}},
		{"POST", "/v1/regex/test", read, s.testPattern, operation{
			about: "Try a regular expression on texts", body: engine.PatternTrial{}, answer: reflect.TypeOf((*engine.Engine).TryPattern).Out(0),
			example: `{"pattern":"^(?!US)(..)","replacement":"[$1]","texts":["HK 1","US 1"]}`,
		}},
		{"GET", "/v1/revisions", read, s.getRevisions, operation{about: "List former definitions, newest first", query: revisionQuery, answer: engine.RevisionPage{}, example: `{"items":[{"id":"5f0c","kind":"subscription","name":"air","op":"overwrite","replaced_at":"2026-08-01T10:00:00Z","size":412,"exists":true}]}`}},
		{"GET", "/v1/revisions/{id}", read, s.getRevision, operation{about: "Read a former definition", answer: revisionAnswer{}, example: `{"revision":{"id":"5f0c","kind":"subscription","name":"air","op":"delete","replaced_at":"2026-08-01T10:00:00Z","size":412,"exists":false,"definition":{"name":"air","type":"local"}}}`, errors: []sandrone.Code{sandrone.NotFound}}},
		{"POST", "/v1/revisions/{id}/restore", write, s.restoreRevision, operation{about: "Write a former definition back", answer: restored{}, tagged: true, errors: append([]sandrone.Code{sandrone.NotFound}, writing...),
			example: `{"ok":true,"kind":"subscription","name":"air"}`}},
		{"DELETE", "/v1/revisions", owner, s.purgeRevisions, operation{about: "Purge all former definitions of one resource", query: []parameter{{"kind", "subscription, file or share", true}, {"name", "of the resource; of a share its id", true}}, status: http.StatusNoContent}},
		{"DELETE", "/v1/revisions/{id}", owner, s.deleteRevision, operation{about: "Purge one former definition", status: http.StatusNoContent, errors: []sandrone.Code{sandrone.NotFound}}},
		{"GET", "/v1/logs", write, s.getLogs, operation{about: "List the last entries of the log", query: append(slices.Clone(logQuery), parameter{"before", "an id; earlier entries only", false}, parameter{"limit", "1 to 1000, default 200", false}), answer: logPage{}, example: `{"items":[{"id":812,"time":"2026-08-01T10:00:00.123Z","level":"warn","message":"http request completed","attrs":{"method":"GET","path":"/s/…","status":404,"duration_ms":2}}],"oldest_id":1,"newest_id":812}`}},
		{"GET", "/v1/logs/stream", write, s.streamLogs, operation{about: "Follow the log as server-sent events", query: logQuery, answer: mediaType("text/event-stream"), example: `"event: log\nid: 812\ndata: {\"id\":812}\n\n"`}},
		{"DELETE", "/v1/cache", write, s.deleteCache, operation{about: "Clear all caches", status: http.StatusNoContent}},
	}
}

func (s *Server) ownerRoutes() []route {
	return []route{
		{"GET", "/v1/settings", read, s.getSettings, operation{about: "Read the settings", answer: engine.SettingsAnswer{}, tagged: true,
			example: `{"settings":` + settingsExample() + `,"effective":` + settingsExample() + `,"overrides":{"http.listen":"flag"},"restart_required":["log.level"]}`}},
		{"PUT", "/v1/settings", owner, s.putSettings, operation{about: "Replace the settings; what a group leaves out takes its default", body: sandrone.Settings{}, answer: engine.SettingsAnswer{}, tagged: true, errors: writing,
			example: settingsExample()}},
		{"PATCH", "/v1/settings", owner, s.patchSettings, operation{about: "Change settings by a JSON merge patch; null is back to the default", body: object{}, answer: engine.SettingsAnswer{}, tagged: true, errors: writing,
			example: `{"remote_defaults":{"allow_hosts":["nas.lan"]}}`}},
		{"GET", "/v1/settings/scheduled-refresh-status", read, s.getScheduleStatus, operation{about: "Tell the state of the scheduled refresh", answer: engine.ScheduleStatus{}, example: `{"enabled":true,"running":false,"next_run_at":"2026-08-01T10:10:00Z","last_success_count":2,"last_failure_count":0,"skipped_count":0}`}},
		{"GET", "/v1/backup", owner, s.getBackup, operation{about: "Get an archive of all definitions and settings, secrets included", answer: mediaType("application/zip")}},
		{"POST", "/v1/backup/restore", owner, s.restoreBackup, operation{about: "Replace all definitions and settings by those of an archive", body: mediaType("application/zip"), answer: done{},
			errors: []sandrone.Code{sandrone.BackupInvalid, sandrone.BackupIncompatible, sandrone.BackupTooLarge}}},
		{"GET", "/v1/tokens", owner, s.getTokens, operation{about: "List the named tokens", answer: tokenList{}, example: `{"items":[{"id":"5f0c","name":"phone ui","scope":"read","created_at":"2026-08-01T10:00:00Z"}]}`}},
		{"POST", "/v1/tokens", owner, s.postToken, operation{
			about: "Make a named token; its secret is shown once", body: tokenBody{}, status: http.StatusCreated, answer: newToken{}, errors: []sandrone.Code{sandrone.Conflict},
			example: `{"name":"phone ui","scope":"read","expires_at":"2099-01-01T00:00:00Z"}`,
		}},
		{"DELETE", "/v1/tokens/{id}", owner, s.deleteToken, operation{about: "Revoke a named token", answer: done{}, errors: []sandrone.Code{sandrone.NotFound}, example: `{"ok":true}`}},
	}
}

// settingsExample is the settings as they are without a change.
func settingsExample() string {
	text, err := json.Marshal(sandrone.DefaultSettings())
	if err != nil {
		panic(err) // strings, numbers and booleans always encode
	}
	return string(text)
}

// object is a JSON object of any shape.
type object map[string]any

func (s *Server) router() *chi.Mux {
	mux := chi.NewMux()
	for _, route := range s.routes() {
		serve := func(w http.ResponseWriter, r *http.Request) {
			if a, ok := w.(*answer); ok {
				a.route = route.pattern
			}
			err := s.access.require(r, route.scope)
			if err == nil {
				err = route.handle(w, r)
			}
			if err != nil {
				s.fail(w, r, err)
			}
		}
		mux.Method(route.method, route.pattern, http.HandlerFunc(serve))
		if route.method == http.MethodGet {
			mux.Method(http.MethodHead, route.pattern, http.HandlerFunc(serve))
		}
	}
	mux.NotFound(s.noRoute)
	mux.MethodNotAllowed(s.noMethod)
	return mux
}

func (s *Server) getPage(w http.ResponseWriter, r *http.Request) error {
	s.ui.ServeHTTP(w, r)
	return nil
}

func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, noSuchPath())
}

func noSuchPath() error { return sandrone.Errorf(sandrone.RouteNotFound, "no such path") }

func (s *Server) noMethod(w http.ResponseWriter, r *http.Request) {
	path := chi.RouteContext(r.Context()).RoutePath
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if s.mux.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	off := path == "/convert" && !s.engine.Settings().PublicConvert.Enabled
	if off || allowed == nil { // nil: a method that no server knows, of a path that is none
		s.noRoute(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.fail(w, r, sandrone.Errorf(sandrone.MethodNotAllowed, "method not allowed"))
}

// routePath is the path to route by: each segment decoded once and encoded in
// one way. So /%76%31 is /v1, and %2F is part of a name and never a separator.
// ok is false for a path that no route may have: one with an empty segment.
func routePath(u *url.URL) (path string, ok bool) {
	if u.Path == "/" {
		return u.Path, true
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return "", false
	}
	var b strings.Builder
	for segment := range strings.SplitSeq(rest, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || name == "" {
			return "", false
		}
		b.WriteByte('/')
		b.WriteString(url.PathEscape(name))
	}
	return b.String(), true
}

// pathName returns a named segment of the path, decoded.
func pathName(r *http.Request, key string) string {
	name, err := url.PathUnescape(chi.URLParam(r, key))
	if err != nil {
		return "" // routePath made it, so this cannot be
	}
	return name
}
