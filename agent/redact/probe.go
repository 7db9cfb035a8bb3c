package redact

import (
	"regexp"
	"strings"
)

// probeMessage is what the kubelet says of a health probe, and what came of it:
// prober.go of the kubelet.
var probeMessage = regexp.MustCompile(`(?s)^((?:Readiness|Liveness|Startup) probe (failed|warning|errored[^:]*)): (.*)$`)

// probeResults are what the kubelet itself says of a probe that failed. All else is
// what the probed container printed or answered, and may be anything.
var probeResults = func() *regexp.Regexp {
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
}()

// probeBeginnings begin what the kubelet says, before what the container answered.
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
		return what + ": " + result, true // the container has no say in it
	}
	if how == "failed" && probeResults.MatchString(result) {
		return what + ": " + result, true
	}
	for _, b := range probeBeginnings {
		if strings.HasPrefix(result, b) {
			return what + ": " + b, true
		}
	}
	return what, true
}
