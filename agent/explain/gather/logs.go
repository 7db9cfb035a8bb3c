package gather

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/words"
)

// How much of logs is read. The kubelet counts lines, which may be long.
const (
	logLines      = 100
	maxLogRead    = 4 << 20  // bytes of one container
	maxLogKept    = 64 << 10 // bytes of one container, the last
	maxLogLine    = 2 << 10  // runes of one line
	maxContainers = 20
	logsWithin    = 10 * time.Second
)

// Logs reads the last lines of the containers of a pod, through the API server as kubectl logs
// does, or else from the port of the kubelet that has the pod. Pod does not gather logs: only a
// caller that asks for them gets them.
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
	ways := f.logWays(ctx, pod, s)
	out := logsOf(pod)
	work := make([]func(), len(out))
	for i := range out {
		work[i] = func() { readLog(ctx, ways, &out[i]) }
	}
	together(work...)
	return out
}

// logWay asks for the log of a container.
type logWay func(ctx context.Context, container string, query url.Values) (*http.Response, error)

// logWays returns the ways to the logs of a pod, the first to be tried first.
func (f From) logWays(ctx context.Context, pod *corev1.Pod, s *evidence.Snapshot) (ways []logWay) {
	namespace, name := url.PathEscape(pod.Namespace), url.PathEscape(pod.Name)
	if f.API != nil {
		ways = append(ways, func(ctx context.Context, container string, query url.Values) (*http.Response, error) {
			query = maps.Clone(query)
			query.Set("container", container)
			return f.API.Open(ctx, kubeapi.Request{Path: "api/v1/namespaces/" + namespace + "/pods/" + name + "/log", Query: query})
		})
	}
	for _, source := range f.More {
		k, is := source.(*Kubelet)
		if !is {
			continue
		}
		p, err := k.port(ctx, &Subject{Name: s.Name, Kubelet: ofKubelet(s), Snapshot: s})
		if p == nil || err != nil && len(p.ways) == 0 {
			continue
		}
		ways = append(ways, func(ctx context.Context, container string, query url.Values) (*http.Response, error) {
			return p.ask(ctx, "/containerLogs/"+namespace+"/"+name+"/"+url.PathEscape(container), query)
		})
	}
	return ways
}

// logsOf returns the logs that a pod has: of each container, and of the container before it if
// it runs again.
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

// readLog reads one log, in the first way that leads there.
func readLog(ctx context.Context, ways []logWay, log *evidence.ContainerLog) {
	query := url.Values{"tailLines": {strconv.Itoa(logLines)}}
	if log.Previous {
		query.Set("previous", "true")
	}
	log.Why, log.Message = evidence.Unreachable, "neither the API server nor the kubelet can be asked from here"
	for i, ask := range ways {
		resp, err := ask(ctx, log.Container, query)
		if err == nil {
			err = readLines(resp.Body, log)
			resp.Body.Close()
		}
		if err == nil {
			log.Why, log.Message = "", ""
			return
		}
		if i == 0 { // the usual way
			log.Why, log.Message = WhyNot(err)
		}
	}
}

// readLines keeps the last lines of a text, within bounds and redacted.
func readLines(r io.Reader, log *evidence.ContainerLog) error {
	log.Lines, log.Cut = nil, false
	text, err := io.ReadAll(io.LimitReader(r, maxLogRead))
	ends := err == nil && len(text) < maxLogRead
	log.Cut = !ends
	if over := len(text) - maxLogKept; over > 0 {
		log.Cut = true
		text = afterCut(text[over:])
	}
	for line := range strings.Lines(string(text)) {
		shown := redact.Text(strings.TrimRight(line, "\r\n"))
		if !ends && !strings.HasSuffix(line, "\n") {
			shown = redact.Begin(line) // its end is missing
		}
		log.Lines = append(log.Lines, words.Cut(words.Clean(shown), maxLogLine))
	}
	return err
}

// afterCut leaves out the rest of the line, or else of the word, in which a text was cut: half a secret is not recognised.
func afterCut(text []byte) []byte {
	for _, ends := range []string{"\n", " "} {
		if _, rest, ok := bytes.Cut(text, []byte(ends)); ok {
			return rest
		}
	}
	return nil
}
