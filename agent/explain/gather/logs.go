package gather

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/words"
)

// How much is read of logs. The kubelet counts lines, which may be long.
const (
	logLines      = 100
	maxLogRead    = 4 << 20  // bytes of one container
	maxLogKept    = 64 << 10 // bytes of one container, the last
	maxLogLine    = 2 << 10  // runes of one line
	maxContainers = 20
	logsWithin    = 10 * time.Second
)

// Logs reads the last lines of the containers of a pod from the kubelet that has it.
// They are none of what Pod gathers: only who asks for them gets them.
func (f From) Logs(ctx context.Context, s *evidence.Snapshot) []evidence.ContainerLog {
	ctx, cancel := context.WithTimeout(ctx, logsWithin)
	defer cancel()
	pod := s.KubeletPod
	if pod == nil {
		pod = s.Pod
	}
	if pod == nil {
		return nil
	}
	var p *port
	var err error
	for _, source := range f.More {
		if k, is := source.(*Kubelet); is {
			p, err = k.port(ctx, &Subject{Name: s.Name, Kubelet: ofKubelet(s), Snapshot: s})
		}
	}
	out := logsOf(pod)
	work := make([]func(), len(out))
	for i := range out {
		work[i] = func() {
			if p == nil {
				out[i].Why, out[i].Message = evidence.Unreachable, "the kubelet cannot be reached from here"
				if err != nil {
					out[i].Why, out[i].Message = WhyNot(err)
				}
				return
			}
			p.readLog(ctx, pod, &out[i])
		}
	}
	together(work...)
	return out
}

// logsOf are the logs that a pod has: of each container, and of the one before if it
// runs again.
func logsOf(p *corev1.Pod) (out []evidence.ContainerLog) {
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, c := range all {
			if len(out) >= maxContainers {
				return out
			}
			if c.RestartCount > 0 && c.State.Running != nil {
				out = append(out, evidence.ContainerLog{Container: c.Name, Previous: true})
			}
			out = append(out, evidence.ContainerLog{Container: c.Name})
		}
	}
	return out
}

// readLog reads one log.
func (p *port) readLog(ctx context.Context, pod *corev1.Pod, log *evidence.ContainerLog) {
	query := url.Values{"tailLines": {strconv.Itoa(logLines)}}
	if log.Previous {
		query.Set("previous", "true")
	}
	path := "/containerLogs/" + url.PathEscape(pod.Namespace) + "/" + url.PathEscape(pod.Name) + "/" + url.PathEscape(log.Container)
	resp, err := p.ask(ctx, path, query)
	if err == nil {
		defer resp.Body.Close()
		err = readLines(resp.Body, log)
	}
	if err != nil {
		log.Why, log.Message = WhyNot(err)
	}
}

// readLines keeps the last lines of a text, within bounds, without what may be a
// secret.
func readLines(r io.Reader, log *evidence.ContainerLog) error {
	text, err := io.ReadAll(io.LimitReader(r, maxLogRead))
	if len(text) == maxLogRead {
		log.Cut = true // and what is the end is not known
	}
	if over := len(text) - maxLogKept; over > 0 {
		text, log.Cut = text[over:], true
		if _, rest, whole := bytes.Cut(text, []byte("\n")); whole {
			text = rest
		}
	}
	for line := range strings.Lines(string(text)) {
		log.Lines = append(log.Lines, words.Cut(words.Clean(redact.Text(strings.TrimRight(line, "\r\n"))), maxLogLine))
	}
	return err
}
