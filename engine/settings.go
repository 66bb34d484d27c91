package engine

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// CheckSettings validates s as a whole and returns it normalised: words
// trimmed and in lower case, zeros that mean "the default" replaced by it. The
// error is invalid_argument with the path of the first bad member.
func CheckSettings(s sandrone.Settings) (sandrone.Settings, error) {
	defaults := sandrone.DefaultSettings()
	c := settingsCheck{}

	c.require(s.SchemaVersion == 1, "schema_version", "must be 1")

	s.HTTP.Listen = strings.TrimSpace(s.HTTP.Listen)
	c.require(isListenAddress(s.HTTP.Listen), "http.listen", "must be host:port")
	s.HTTP.PublicURL = strings.TrimSpace(s.HTTP.PublicURL)
	c.require(s.HTTP.PublicURL == "" || isPublicURL(s.HTTP.PublicURL), "http.public_url", "must be an absolute http or https address without query")
	for i, proxy := range s.HTTP.TrustedProxies {
		_, err := ParsePrefix(proxy)
		c.require(err == nil, "http.trusted_proxies["+strconv.Itoa(i)+"]", "must be an address or CIDR")
	}
	c.require(s.HTTP.BodyTimeoutSeconds >= 1 && s.HTTP.BodyTimeoutSeconds <= 600, "http.body_timeout_seconds", "must be 1 to 600")

	c.require(isMCPPath(s.MCP.Path), "mcp.path", "must be a plain path outside the program's own routes")
	c.require(s.MCP.MaxOutputBytes >= 0, "mcp.max_output_bytes", "must not be negative")
	if s.MCP.MaxOutputBytes == 0 {
		s.MCP.MaxOutputBytes = defaults.MCP.MaxOutputBytes
	}

	s.Log.Level = word(s.Log.Level)
	c.oneOf(s.Log.Level, "log.level", "debug", "info", "warn", "error")

	r := &s.RemoteDefaults
	r.UserAgent, r.Proxy = strings.TrimSpace(r.UserAgent), strings.TrimSpace(r.Proxy)
	c.require(r.StaleIfErrorSeconds >= 0, "remote_defaults.stale_if_error_seconds", "must not be negative")
	c.require(r.TimeoutMS >= 0, "remote_defaults.timeout_ms", "must not be negative")
	if r.TimeoutMS == 0 {
		r.TimeoutMS = defaults.RemoteDefaults.TimeoutMS
	}
	if c.err == nil { // the rules of addresses and proxies are fetch's
		if _, err := fetch.New(fetchOptions(s)); err != nil {
			c.err = sandrone.AsError(err)
		}
	}

	c.probe(&s.ProbeDefaults, defaults.ProbeDefaults)

	cache := &s.CacheDefaults
	for _, ttl := range []struct {
		name    string
		seconds int64
	}{
		{"remote_fetch_ttl_seconds", cache.RemoteFetchTTLSeconds},
		{"probe_ttl_seconds", cache.ProbeTTLSeconds},
		{"subscription_render_ttl_seconds", cache.SubscriptionRenderTTLSeconds},
		{"file_render_ttl_seconds", cache.FileRenderTTLSeconds},
		{"subscription_traffic_ttl_seconds", cache.SubscriptionTrafficTTLSeconds},
	} {
		c.require(ttl.seconds >= 0, "cache_defaults."+ttl.name, "must not be negative")
	}
	c.require(cache.CacheMaxBytes >= 1<<20, "cache_defaults.cache_max_bytes", "must be at least 1 MiB")

	c.require(s.PublicConvert.RequestsPerMinute >= 0, "public_convert.requests_per_minute", "must not be negative")
	c.require(s.PublicConvert.MaxConcurrent >= 1, "public_convert.max_concurrent", "must be at least 1")
	c.require(s.Shares.RequestsPerMinute >= 0, "shares.requests_per_minute", "must not be negative")

	c.oneOf(s.Appearance.ThemeMode, "appearance.theme_mode", "system", "light", "dark")
	c.oneOf(s.Appearance.Locale, "appearance.locale", "auto", "zh-CN", "en-US")

	c.refresh(&s.ScheduledRefresh)

	if c.err != nil {
		return sandrone.Settings{}, c.err
	}
	return s, nil
}

// settingsCheck keeps the first fault, so that a check reads as a list.
type settingsCheck struct{ err *sandrone.Error }

func (c *settingsCheck) require(ok bool, path, rule string) {
	if !ok && c.err == nil {
		c.err = sandrone.Errorf(sandrone.InvalidArgument, "%s %s", path, rule).At(path)
	}
}

func (c *settingsCheck) oneOf(value, path string, words ...string) {
	c.require(slices.Contains(words, value), path, "must be one of "+strings.Join(words, ", "))
}

func (c *settingsCheck) probe(p *sandrone.ProbeSettings, defaults sandrone.ProbeSettings) {
	p.Method = strings.ReplaceAll(word(p.Method), "-", "_")
	if p.Method == "urltest" {
		p.Method = "url_test"
	}
	c.oneOf(p.Method, "probe_defaults.method", "tcp_connect", "udp_ntp", "url_test")
	p.Core = word(p.Core)
	if p.Core == "singbox" || p.Core == "sing_box" {
		p.Core = "sing-box"
	}
	c.oneOf(p.Core, "probe_defaults.core", "mihomo", "sing-box")
	u, err := url.Parse(strings.TrimSpace(p.URL))
	c.require(err == nil && isHTTP(u) && u.Hostname() != "", "probe_defaults.url", "must be an http or https address")
	c.require(p.TimeoutMS >= 0, "probe_defaults.timeout_ms", "must not be negative")
	c.require(p.Attempts >= 0, "probe_defaults.attempts", "must not be negative")
	c.require(p.Concurrency >= 0, "probe_defaults.concurrency", "must not be negative")
	if p.TimeoutMS == 0 {
		p.TimeoutMS = defaults.TimeoutMS
	}
	if p.Attempts == 0 {
		p.Attempts = defaults.Attempts
	}
	if p.Concurrency == 0 {
		p.Concurrency = defaults.Concurrency
	}
}

// ParsePrefix reads an address or a CIDR; an address is the prefix that holds
// only itself. IPv4-mapped addresses become IPv4.
func ParsePrefix(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		return prefix.Masked(), err
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

func word(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func isListenAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

func isHTTP(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

func isPublicURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isHTTP(u) && u.Hostname() != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isMCPPath keeps the endpoint away from the program's other routes, and from
// characters that a router or a proxy could read in two ways.
func isMCPPath(p string) bool {
	switch p {
	case "/", "/healthz", "/version", "/convert", "/metrics", "/s", "/v1", "/_app":
		return false
	}
	if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, `%{}*?#\`) {
		return false
	}
	for _, below := range []string{"/s/", "/v1/", "/_app/"} {
		if strings.HasPrefix(p, below) {
			return false
		}
	}
	if strings.ContainsFunc(p, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return false
	}
	for segment := range strings.SplitSeq(p[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}
