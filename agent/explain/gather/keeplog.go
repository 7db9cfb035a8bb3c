package gather

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/klog"
)

// The logs of a bundle.
const (
	kubeletLog   = "kubelet.log"
	kubeletLogIs = "the end of the kubelet's log; of values only those that name things, and errors"
	runtimeLog   = "runtime.log"
	runtimeLogIs = "the end of the container runtime's log: calls, warnings and errors"
)

// keptKeys are the values of the kubelet's log that are kept: names, ids, counts and states.
var keptKeys = map[string]bool{}

func init() {
	for key := range strings.FieldsSeq(`pod pods podUID podUid podID podName uid node nodeName kubeletVersion container containerName
		containerID podSandboxID sandboxID image volumeName volume mountPath source type event phase workType updateType reason
		exitCode gracePeriod gracePeriodSeconds gracePeriodOverride podIsTerminal isTerminal probeType probeResult statusVersion
		duration podStartSLOduration podStartE2EDuration attempt restartCount count static terminating`) {
		keptKeys[key] = true
	}
}

// logged returns a text of a log as it may be shown.
func logged(text string) string { return message(redact.Logged(text)) }

// keptErrors are the values that are errors.
var keptErrors = map[string]bool{"err": true, "error": true}

// keptLines returns a log as it may leave: the lines of a kubelet or of a runtime, by themselves or as a journal has
// them, each with the values that may be shown. What is neither is left out. The log's clock has the zone; nil: UTC.
func keptLines(text []byte, zone *time.Location) []byte {
	near := time.Now().UTC()
	if zone != nil {
		near = near.In(zone)
	}
	var out bytes.Buffer
	eachEntry(text, func(entry string, _ time.Time) {
		line := keptRuntime(entry)
		if line == "" {
			line = keptEntry(entry, near)
		}
		if line != "" {
			out.WriteString(line + "\n")
		}
	})
	return out.Bytes()
}

// keptEntry returns an entry of a kubelet as one line; empty: it is none, or nothing of it is left that names anything.
func keptEntry(text string, near time.Time) string {
	e, ok := klog.Parse(text, near)
	if !ok {
		return ""
	}
	head := fmt.Sprintf("%c%s       0 %s] ", e.Level, e.Time.Format("0102 15:04:05.000000"), e.Where)
	if !e.Structured {
		return head + keptMessage(e.Message)
	}
	values, shown, left := "", 0, 0
	for key, value := range e.Values() {
		switch {
		case keptErrors[key]:
			value = logged(value)
		case keptKeys[key]:
			value = message(value)
		default:
			value = redact.Redacted
			left++
		}
		shown++
		values += fmt.Sprintf(" %s=%q", key, value)
	}
	if e.Level == 'I' && shown > 0 && shown == left {
		return "" // such as the line of a request
	}
	return fmt.Sprintf("%s%q%s", head, keptMessage(e.Message), values)
}

// inQuotes matches what a message quotes, and quotedName a quoted name or id.
var (
	inQuotes   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?`)
	quotedName = regexp.MustCompile(`^"[A-Za-z0-9._/:@~-]*"$`)
)

// keptMessage returns a message as it may leave. What it quotes may be anything, such as the answer to a probe: only
// names and ids are kept.
func keptMessage(text string) string {
	return logged(inQuotes.ReplaceAllStringFunc(text, func(quoted string) string {
		if quotedName.MatchString(quoted) {
			return quoted
		}
		return redact.Redacted
	}))
}

// ofRuntime matches a line of a runtime, up to the end of its message.
var ofRuntime = regexp.MustCompile(`^time="([^"]*)" level=([a-z]+) msg=("(?:[^"\\]|\\.)*"|\S*)`)

// errorOfRuntime matches the error of such a line.
var errorOfRuntime = regexp.MustCompile(` error="((?:[^"\\]|\\.)*)"`)

// namesOfRuntime matches what CRI-O puts behind each message of a call: the request, its method, and what it is about.
var namesOfRuntime = regexp.MustCompile(` (?:id|containerID|sandboxID)=[0-9a-f-]+| name=/runtime\.v1[a-z0-9]*\.\w+/\w+`)

// keptRuntime returns a line of the runtime with its message and its error; empty: it is no such line.
func keptRuntime(line string) string {
	m := ofRuntime.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	out := fmt.Sprintf("time=%q level=%s msg=%s", m[1], m[2], logged(m[3]))
	for _, named := range namesOfRuntime.FindAllString(line[len(m[0]):], -1) {
		out += named
	}
	if e := errorOfRuntime.FindStringSubmatch(line[len(m[0]):]); e != nil {
		out += ` error="` + logged(e[1]) + `"`
	}
	return out
}
