package gather

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/words"
)

// maxKeptDump bounds the stacks that are kept, in bytes.
const maxKeptDump = 16 << 20

// keep returns the stacks of the kubelet's goroutines, and, of a kubelet on another machine, the end of its log: the
// kubelet's node log query reads the journal of its machine.
func (k *Kubelet) keep(ctx context.Context, of *Subject) []File {
	p, err := k.port(ctx, of)
	if p == nil && err == nil {
		err = errNoNode
	}
	var stacks []byte
	if err == nil {
		stacks, err = p.stacks(ctx)
	}
	out := []File{fileOf("goroutines.txt", "the stacks of the kubelet's goroutines, without arguments", stacks, err)}
	if p != nil && p.near == nil {
		text, err := p.keptQuery(ctx, "kubelet")
		out = append(out, fileOf(kubeletLog, kubeletLogIs, text, err))
		text, err = p.keptQuery(ctx, "containerd")
		out = append(out, fileOf(runtimeLog, runtimeLogIs, text, err))
	}
	return out
}

// keptQuery returns the end of a service's log as it may leave. An answer without any line of such a log is none.
func (p *port) keptQuery(ctx context.Context, service string) ([]byte, error) {
	text, err := p.queryLog(ctx, service)
	if err != nil {
		return nil, err
	}
	if text = keptLines(text, nil); len(text) == 0 {
		return nil, fmt.Errorf("the kubelet's answer has no line of %s", service)
	}
	return text, nil
}

// stacks asks for the stacks of the kubelet's goroutines.
func (p *port) stacks(ctx context.Context) (out []byte, err error) {
	err = p.get(ctx, pathDump, url.Values{"debug": {"2"}}, maxKeptDump, func(r io.Reader) (err error) {
		text, err := io.ReadAll(r)
		if errors.Is(err, kubeapi.ErrTooLarge) {
			err = nil
		}
		out = keptStacks(text)
		return err
	})
	return out, err
}

// ofGo matches the lines of a goroutine's stack.
var ofGo = regexp.MustCompile(`^(?:goroutine \d+ .*\[[^\]]*\]:|\t\S+:\d+(?: \+0x[0-9a-f]+)?|created by \S+(?: in goroutine \d+)?|\.\.\..*)$`)

// keptStacks returns stacks without the arguments of calls, which are numbers and addresses. What is no line of a stack
// is left out.
func keptStacks(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		line := strings.TrimRight(string(line), "\r\n")
		switch i := strings.LastIndexByte(line, '('); {
		case line == "", ofGo.MatchString(line):
		case i > 0 && strings.HasSuffix(line, ")") && !strings.ContainsAny(line[:i], " \t\""):
			line = line[:i] + "(...)"
		default:
			continue
		}
		place, tab := strings.CutPrefix(line, "\t")
		if tab {
			out.WriteByte('\t')
		}
		out.WriteString(words.Clean(redact.Text(place)) + "\n")
	}
	return out.Bytes()
}
