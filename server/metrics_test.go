package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/server"
)

var _ engine.Metrics = (*server.Metrics)(nil)

func TestMetricsCountWhatHappens(t *testing.T) {
	m := server.NewMetrics()
	address := setup{token: token, metrics: m, settings: func(s *sandrone.Settings) {
		s.Shares.RequestsPerMinute = 1
	}}.start(t)
	m.Fetch("ok", time.Second, 100)
	m.FetchShared()
	m.Conversion("uri-list", "mihomo-proxies", false)
	m.Rendered("mihomo-proxies", 5, 2)
	m.Cache("remote_fetch", true)
	m.CacheEvicted("probe", 3)
	m.Script("timeout", time.Second)
	m.Probed("tcp_connect", "", 4, 1)
	m.RefreshTarget(true)
	m.RefreshDone(time.Unix(1700000000, 0))
	runRows(t, address, []row{
		{name: "air", call: as("POST", "/v1/subscriptions", local), status: 201},
		{name: "read", call: as("GET", "/v1/subscriptions/air", ""), status: 200},
		{name: "share", call: call{method: "GET", path: "/s/secret-id"}, status: 404, code: "not_found"},
		{name: "share too often", call: call{method: "GET", path: "/s/secret-id"}, status: 429, code: "rate_limited"},
		{name: "no route", call: as("GET", "/v1/secret-path", ""), status: 404, code: "route_not_found"},
		{name: "method of its own", call: as("BREW", "/v1/inspect", ""), status: 405, code: "method_not_allowed"},
		{name: "metrics", call: as("GET", "/metrics", ""), status: 200, header: []string{noStore, "Content-Type: text/plain; version=0.0.4; charset=utf-8"}, has: []string{
			`sandrone_build_info{revision="`,
			`sandrone_http_requests_total{method="POST",route="/v1/subscriptions",status="201"} 1`,
			`sandrone_http_requests_total{method="GET",route="/v1/subscriptions/{name}",status="200"} 1`,
			`sandrone_http_requests_total{method="GET",route="/s/{id}",status="404"} 1`,
			`sandrone_http_requests_total{method="GET",route="none",status="404"} 1`,
			`sandrone_http_requests_total{method="other",route="none",status="405"} 1`,
			`sandrone_http_request_duration_seconds_count{method="GET",route="/s/{id}"} 2`,
			`sandrone_http_in_flight_requests 1`,
			`sandrone_rate_limited_total{route="/s/{id}"} 1`,
			`sandrone_fetch_total{result="ok"} 1`,
			`sandrone_fetch_duration_seconds_sum 1`,
			`sandrone_fetch_bytes_total 100`,
			`sandrone_fetch_shared_total 1`,
			`sandrone_conversions_total{from="uri-list",result="error",to="mihomo-proxies"} 1`,
			`sandrone_nodes_rendered_total{to="mihomo-proxies"} 5`,
			`sandrone_nodes_skipped_total{to="mihomo-proxies"} 2`,
			`sandrone_cache_requests_total{layer="remote_fetch",result="hit"} 1`,
			`sandrone_cache_evictions_total{layer="probe"} 3`,
			`sandrone_script_runs_total{result="timeout"} 1`,
			`sandrone_script_duration_seconds_count{result="timeout"} 1`,
			`sandrone_probe_nodes_total{core="",method="tcp_connect",result="alive"} 4`,
			`sandrone_probe_nodes_total{core="",method="tcp_connect",result="dead"} 1`,
			`sandrone_scheduled_refresh_targets_total{result="ok"} 1`,
			`sandrone_scheduled_refresh_last_success_timestamp_seconds 1700000000`,
			`sandrone_resources{kind="subscription"} 1`,
			`sandrone_resources{kind="share"} 0`,
			`sandrone_cache_bytes{layer="remote_fetch"} 0`,
			"go_goroutines ",
			"# TYPE sandrone_http_requests_total counter",
			"# TYPE sandrone_fetch_duration_seconds histogram",
			`sandrone_fetch_duration_seconds_bucket{le="+Inf"} 1`,
		}, hasNot: []string{"secret-id", "secret-path", `"air"`, "BREW", "192.0.2"}},
		{name: "metrics by HEAD", call: as("HEAD", "/metrics", ""), status: 200},
		{name: "metrics take no POST", call: as("POST", "/metrics", ""), status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD"}},
	})
}

func TestOwnerListenerNeedsNoToken(t *testing.T) {
	s := setup{token: token}.server(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeOwner(ctx, ln) }()
	address := ln.Addr().String()
	runRows(t, address, []row{
		{name: "inspect", call: call{method: "GET", path: "/v1/inspect", header: []string{"Host: sandrone"}}, status: 200, has: []string{`"scope": "owner"`}},
		{name: "backup", call: call{method: "GET", path: "/v1/backup"}, status: 200},
		{name: "metrics", call: call{method: "GET", path: "/metrics"}, status: 200},
		{name: "a wrong token is not looked at", call: call{method: "GET", path: "/v1/inspect", header: bearer("wrong-token")}, status: 200},
		{name: "health", call: call{method: "GET", path: "/healthz"}, status: 200},
	})
	stop()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
}
