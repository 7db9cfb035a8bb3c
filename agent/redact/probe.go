package redact

import (
	"regexp"
	"strings"
	"sync"
)

// probeMessage matches the kubelet's messages about health probes, of its prober.go, and splits off the result.
var probeMessage = regexp.MustCompile(`(?s)^((?:Readiness|Liveness|Startup) probe (failed|warning|errored[^:]*)): (.*)$`)

// probeResults matches the kubelet's own words about a probe that failed. All else was printed or answered by the
// probed container, and may be anything. It is compiled when the first message of a probe comes: that takes milliseconds, and
// every command of podstep would wait for them.
var probeResults = sync.OnceValue(func() *regexp.Regexp {
	const (
		address = `\[?[0-9a-fA-F.:]{2,48}\]?:\d{1,5}`
		host    = `[a-z0-9.:\-\[\]]{1,64}`
		page    = `(?:/(?:[a-z_.\-]{1,16}|v\d))*/?(?:<redacted>)?`
		took    = `[0-9.a-zµ]{1,16}`
		failure = `(?:dial tcp(?: ` + address + `)?: |read tcp ` + address + `->` + address + `: )?` +
			`(?:(?:connect: )?connection refused|lookup ` + host + `(?: on ` + address + `)?: no such host|connect: no route to host|connect: connection timed out|i/o timeout|read: connection reset by peer|EOF|` +
			`context deadline exceeded|net/http: request canceled(?: while waiting for connection)?)` +
			`(?: \(Client\.Timeout exceeded while awaiting headers\))?`
	)
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`HTTP probe failed with statuscode: \d{1,3}`,
		`(?:Get "https?://` + host + page + `": )?` + failure,
		`command(?: timed out:)? <redacted>(?: exited with -?\d{1,3}| timed out(?: after ` + took + `)?)`,
		`timeout: failed to connect service "` + address + `" within ` + took + `: context deadline exceeded`,
		`timeout: health rpc did not complete within ` + took,
		`service unhealthy \(responded with "[A-Z_]{1,20}"\)`,
		`rpc error: code = [A-Za-z]{1,20} desc = context deadline exceeded`,
	}, "|") + `)$`)
})

// probeBeginnings are the kubelet's own words before the container's answer.
var probeBeginnings = []string{
	"Probe terminated redirects", "error: this server does not implement the grpc health protocol (grpc.health.v1.Health)", "error: health rpc probe failed",
}

// Probe shows the kubelet's message about a health probe without what the probed
// container printed or answered. ok is false for other messages.
func Probe(message string) (shown string, ok bool) {
	m := probeMessage.FindStringSubmatch(message)
	if m == nil {
		return "", false
	}
	what, how, result := m[1], m[2], Text(m[3])
	if strings.HasPrefix(how, "errored") {
		return what + ": " + result, true // nothing of it is the container's
	}
	if how == "failed" && probeResults().MatchString(result) {
		return what + ": " + result, true
	}
	for _, b := range probeBeginnings {
		if strings.HasPrefix(result, b) {
			return what + ": " + b, true
		}
	}
	return what, true
}
