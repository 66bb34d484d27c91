package server

import (
	"maps"
	"net/http"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// done is the answer to a write that has nothing else to say.
type done struct {
	OK       bool               `json:"ok"`
	Warnings []sandrone.Warning `json:"warnings,omitempty"`
}

type itemList struct {
	Items []engine.Item `json:"items"`
}

func (s *Server) getSubscriptions(w http.ResponseWriter, r *http.Request) error {
	items, err := s.engine.SubscriptionItems(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, itemList{items})
}

func (s *Server) postSubscription(w http.ResponseWriter, r *http.Request) error {
	var v sandrone.Subscription
	if err := decode(w, r, &v); err != nil {
		return err
	}
	put, err := s.engine.PutSubscription(r.Context(), &v, precondition(r))
	if err != nil {
		return err
	}
	tagged(w, put.ETag)
	return reply(w, http.StatusCreated, done{OK: true, Warnings: put.Warnings})
}

func (s *Server) getSubscription(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	record, err := s.engine.Subscription(r.Context(), name)
	if err != nil {
		return err
	}
	return replyTagged(w, r, record.ETag, record.Definition)
}

func (s *Server) deleteSubscription(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	if err := s.engine.DeleteSubscription(r.Context(), name, precondition(r)); err != nil {
		return err
	}
	return reply(w, http.StatusOK, done{OK: true})
}

// previewOptions are the members that both kinds of previews have.
type previewOptions struct {
	Args    map[string]string `json:"args,omitempty"`
	Refresh bool              `json:"refresh,omitempty"`
	Trace   *bool             `json:"trace,omitempty"`  // nil means yes
	Target  string            `json:"target,omitempty"` // a render format
}

func (o *previewOptions) request() engine.PreviewRequest {
	return engine.PreviewRequest{Args: o.Args, Refresh: o.Refresh, Trace: o.Trace == nil || *o.Trace, Target: o.Target}
}

func (s *Server) previewSubscription(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	var body previewOptions
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	req := body.request()
	req.Name = name
	if req.Args, err = joinArgs(r, body.Args); err != nil {
		return err
	}
	preview, err := s.engine.PreviewSubscription(r.Context(), req)
	if err != nil {
		return err
	}
	return replyPreview(w, preview)
}

// replyPreview answers with a preview, the largest answer that there is.
func replyPreview(w http.ResponseWriter, p *engine.Preview) error {
	body, err := p.Indented()
	if err != nil {
		return err
	}
	send(w, http.StatusOK, jsonType, append(body, '\n'))
	return nil
}

// draftPreview asks for the preview of a definition that is not stored.
type draftPreview struct {
	Subscription *sandrone.Subscription `json:"subscription"`
	previewOptions
}

func (s *Server) previewDraft(w http.ResponseWriter, r *http.Request) error {
	var body draftPreview
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.Subscription == nil {
		return sandrone.Errorf(sandrone.InvalidArgument, "subscription is required").At("subscription")
	}
	req := body.request()
	req.Draft = body.Subscription
	preview, err := s.engine.PreviewSubscription(r.Context(), req)
	if err != nil {
		return err
	}
	return replyPreview(w, preview)
}

type trafficBody struct {
	Refresh bool `json:"refresh,omitempty"`
}

func (s *Server) subscriptionTraffic(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	var body trafficBody
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	traffic, err := s.engine.Traffic(r.Context(), name, body.Refresh)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, traffic)
}

type renderBody struct {
	Format  string            `json:"format"`
	Args    map[string]string `json:"args,omitempty"`
	Refresh bool              `json:"refresh,omitempty"`
}

func (s *Server) renderSubscription(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	var body renderBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if word(body.Format) == "" {
		return sandrone.Errorf(sandrone.InvalidArgument, "format is required").At("format")
	}
	args, err := joinArgs(r, body.Args)
	if err != nil {
		return err
	}
	result, err := s.engine.RenderSubscription(r.Context(), engine.RenderRequest{Name: name, Format: body.Format, Args: args, Refresh: body.Refresh})
	if err != nil {
		return err
	}
	return sendReported(w, result.ContentType, result.Body, result.Report, result.Cached)
}

// joinArgs adds the args of a body to those of the query, and wins over them.
func joinArgs(r *http.Request, body map[string]string) (map[string]string, error) {
	args, err := queryArgs(r)
	if err != nil || len(body) == 0 {
		return args, err
	}
	if args == nil {
		return body, nil
	}
	maps.Copy(args, body)
	return args, nil
}
