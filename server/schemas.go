package server

import (
	"net/http"

	"github.com/sandrone-gateway/sandrone/catalog"
)

const schemasPath = "/v1/schemas"

// schemaPaths are the addresses of the schema documents by their names.
var schemaPaths = map[string]string{
	catalog.SchemaProcessors:   schemasPath + "/processors",
	catalog.SchemaFileKinds:    schemasPath + "/file-kinds",
	catalog.SchemaScriptAPI:    schemasPath + "/script-api/v1",
	catalog.SchemaSubscription: schemasPath + "/subscription",
	catalog.SchemaFileSpec:     schemasPath + "/file-spec",
}

func (s *Server) getSchemas(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, schemasPath, func() (any, error) {
		return s.catalog.Schemas(func(name string) string { return schemaPaths[name] }), nil
	})
}

func processorPath(stage, kind string) string {
	return schemaPaths[catalog.SchemaProcessors] + "/" + stage + "/" + kind
}

func (s *Server) getProcessors(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, schemaPaths[catalog.SchemaProcessors], func() (any, error) {
		return s.catalog.Processors(processorPath), nil
	})
}

func (s *Server) getProcessor(w http.ResponseWriter, r *http.Request) error {
	stage, kind := pathName(r, "stage"), pathName(r, "type")
	return s.document(w, processorPath(stage, kind), func() (any, error) {
		return s.catalog.Processor(stage, kind)
	})
}

func fileKindPath(kind string) string { return schemaPaths[catalog.SchemaFileKinds] + "/" + kind }

func (s *Server) getFileKinds(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, schemaPaths[catalog.SchemaFileKinds], func() (any, error) {
		return s.catalog.FileKinds(fileKindPath), nil
	})
}

func (s *Server) getFileKind(w http.ResponseWriter, r *http.Request) error {
	kind := pathName(r, "kind")
	return s.document(w, fileKindPath(kind), func() (any, error) {
		return s.catalog.FileKind(kind)
	})
}

func (s *Server) getScriptAPI(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, schemaPaths[catalog.SchemaScriptAPI], func() (any, error) { return s.catalog.ScriptAPI(), nil })
}

func (s *Server) getSubscriptionSchema(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, schemaPaths[catalog.SchemaSubscription], func() (any, error) { return s.catalog.Subscription(), nil })
}

func (s *Server) getFileSchema(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, schemaPaths[catalog.SchemaFileSpec], func() (any, error) { return s.catalog.FileSpec(), nil })
}
