package gather

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

// Kubelet is a kubelet's port as a source. It asks directly where the kubelet runs on this
// machine, and otherwise through the API server, which takes the right to get nodes/proxy.
type Kubelet struct {
	// API is nil if there is no API server to go through. Near is nil if nothing of this
	// machine is to be looked at.
	API  *kubeapi.Client
	Near *Nearby
	// Whole says that the source is asked about many pods: each kubelet is asked once.
	Whole bool

	mu   sync.Mutex
	seen map[string]*port // by node
}

// Names names the source.
func (*Kubelet) Names() (evidence.Source, string) { return evidence.Port, "port" }

// Look asks the kubelet for all that it serves.
func (k *Kubelet) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	ctx, cancel := early(ctx)
	defer cancel()
	// One silent node of many must not take all the time.
	ctx, cancelWithin := context.WithTimeout(ctx, Within)
	defer cancelWithin()
	p, err := k.port(ctx, of)
	switch {
	case p != nil:
		p.once.Do(func() { p.look(ctx) })
		return p.about(of)
	case err == nil || errors.Is(err, errNoNode):
		return nil
	}
	return missedNear(evidence.Port, "port", err)
}

// port returns the port to look at for a pod; nil: it cannot be reached.
func (k *Kubelet) port(ctx context.Context, of *Subject) (*port, error) {
	node := of.nodeName()
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.seen[node]; p != nil && k.Whole {
		return p, nil
	}
	p := &port{}
	var err error
	if k.Near != nil {
		p.near, p.ways, err = k.Near.reach(ctx, of)
	}
	if len(p.ways) == 0 {
		p.ways = k.onLoopback(ctx, node)
	}
	p.wantsLog = p.near == nil && !k.Whole
	if k.API != nil && node != "" {
		p.ways = append(p.ways, through(k.API, node))
	}
	if len(p.ways) == 0 {
		return nil, err
	}
	if k.seen == nil {
		k.seen = map[string]*port{}
	}
	k.seen[node] = p
	return p, nil
}

// way is one of the ways to the kubelet's port.
type way func(ctx context.Context, path string, query url.Values) (*http.Response, error)

func directly(client *http.Client, base string) way {
	return func(ctx context.Context, path string, query url.Values) (*http.Response, error) {
		address := base + path
		if len(query) > 0 {
			address += "?" + query.Encode()
		}
		return kubeapi.Get(ctx, client, address)
	}
}

func through(api *kubeapi.Client, node string) way {
	return func(ctx context.Context, path string, query url.Values) (*http.Response, error) {
		return api.Open(ctx, kubeapi.Request{Path: "api/v1/nodes/" + url.PathEscape(node) + "/proxy" + path, Query: query})
	}
}

// port is one look at a kubelet's port, which may be about many pods.
type port struct {
	near *nearKubelet // nil: it is not on this machine
	ways []way
	once sync.Once
	part part
	// wantsLog: the kubelet is asked for the end of its log, if it answers that.
	wantsLog bool

	mu    sync.Mutex // of the fields below
	log   []byte     // the end of its log
	pods  []podOf
	known bool // pods are all of the kubelet's
	full  []*corev1.Pod
	dump  []routine
}

// podOf is what is kept of each of the kubelet's pods, to find out which pod a goroutine belongs to.
type podOf struct {
	uid     string
	leaving bool // it is being deleted, or has ended
	ready   bool
}

// The paths of the kubelet's port.
const (
	pathPods     = "/pods"
	pathHealthz  = "/healthz"
	pathSyncLoop = "/healthz/syncloop"
	pathMetrics  = "/metrics"
	pathConfigz  = "/configz"
	pathDump     = "/debug/pprof/goroutine"
)

// look asks for all parts. None of them needs to be answered.
func (p *port) look(ctx context.Context) {
	p.part.s.Kubelet = &evidence.Kubelet{}
	asked := map[string]func(){
		pathPods:     func() { p.askPods(ctx) },
		pathHealthz:  func() { p.askHealth(ctx, pathHealthz, func(k *evidence.Kubelet, text string) { k.Healthz = text }) },
		pathSyncLoop: func() { p.askHealth(ctx, pathSyncLoop, func(k *evidence.Kubelet, text string) { k.SyncLoop = text }) },
		pathMetrics:  func() { p.askMetrics(ctx) },
		pathConfigz:  func() { p.askConfigz(ctx) },
		pathDump:     func() { p.askDump(ctx) },
	}
	for _, name := range within(ctx, asked) {
		p.part.missed(evidence.Port, name, context.DeadlineExceeded)
	}
	if len(p.part.s.Origins) == 0 {
		p.part.put(func(s *evidence.Snapshot) { s.Kubelet, s.Unseen = nil, oneOf(s.Unseen, "port") })
	}
	p.part.give()
}

// about returns what was seen of one pod.
func (p *port) about(of *Subject) func(*evidence.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.part.s
	if out.Kubelet == nil {
		return (&part{s: out}).give()
	}
	kubelet := *out.Kubelet
	out.Kubelet, out.Unseen = &kubelet, slices.Clone(out.Unseen)
	if p.known {
		if i := slices.IndexFunc(p.full, func(pod *corev1.Pod) bool { return isIt(pod, of) }); i >= 0 {
			out.KubeletPod = trimmed(p.full[i])
		}
		has := out.KubeletPod != nil
		kubelet.HasPod = &has
	}
	p.own(of, &out)
	if len(p.log) > 0 {
		f := filter{of: of, since: time.Now().Add(-logSince)}
		out.Machine = &evidence.Machine{Lines: f.lines(p.log, time.UTC)}
	}
	return (&part{s: out}).give()
}

// oneOf makes one part of several that could not be seen for the same reason.
func oneOf(all []evidence.Unseen, what string) []evidence.Unseen {
	for _, u := range all {
		if u.Why != all[0].Why {
			return all
		}
	}
	if len(all) == 0 {
		return nil
	}
	first := all[0]
	first.What = what
	return []evidence.Unseen{first}
}

// ask asks in each way until one answers.
func (p *port) ask(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	var errs []error
	for _, w := range p.ways {
		resp, err := w(ctx, path, query)
		if err == nil {
			return resp, nil
		}
		// An error of the kubelet itself is the answer.
		if kubeapi.IsCode(err, http.StatusInternalServerError) || ctx.Err() != nil {
			return nil, err
		}
		errs = append(errs, err)
	}
	return nil, errs[len(errs)-1]
}

// get asks for a path, and reads the answer; read gets no more than max bytes.
func (p *port) get(ctx context.Context, path string, query url.Values, max int, read func(io.Reader) error) error {
	resp, err := p.ask(ctx, path, query)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return read(&kubeapi.Bounded{R: resp.Body, Left: max})
}

// maxHealth bounds the part of a health check's answer that is read, in bytes.
const maxHealth = 4 << 10

// askHealth asks whether the kubelet, or its sync loop, is well. "Not well" is an answer, too.
func (p *port) askHealth(ctx context.Context, path string, set func(*evidence.Kubelet, string)) {
	var text []byte
	err := p.get(ctx, path, nil, maxHealth, func(r io.Reader) (err error) {
		text, err = io.ReadAll(r)
		return err
	})
	var status *kubeapi.StatusError
	switch {
	case err == nil:
	case errors.As(err, &status) && status.Code == http.StatusInternalServerError && isHealth(status.Message):
		text = []byte(status.Message)
	default:
		p.part.missed(evidence.Port, path, err)
		return
	}
	shown := words.Cut(words.OneLine(message(string(text))), 1000)
	p.part.saw(evidence.Port, path, func(s *evidence.Snapshot) { set(s.Kubelet, shown) })
}

// isHealth reports whether a text is the kubelet's own about its health, and not the text of a
// server in between.
func isHealth(text string) bool {
	return strings.Contains(text, "[-]") || strings.Contains(text, "[+]") || strings.Contains(text, "internal server error: ")
}

// maxPodList bounds the part of the list of the kubelet's pods that is read, in bytes.
const maxPodList = 256 << 20

// askPods asks for the pods that the kubelet has.
func (p *port) askPods(ctx context.Context) {
	var full []*corev1.Pod
	var all []podOf
	err := p.get(ctx, pathPods, nil, maxPodList, func(r io.Reader) error {
		return kubeapi.EachItem(r, func(raw []byte) error {
			pod, err := decodePod(raw)
			if err != nil {
				return err
			}
			all = append(all, podOf{string(pod.UID), isLeaving(pod), isReady(pod)})
			full = append(full, pod)
			return nil
		})
	})
	if err != nil {
		p.part.missed(evidence.Port, pathPods, err)
		return
	}
	p.mu.Lock()
	p.pods, p.full, p.known = all, full, true
	p.mu.Unlock()
	p.part.saw(evidence.Port, pathPods, func(*evidence.Snapshot) {})
}

// isIt reports whether one of the kubelet's pods is the one that is looked for.
func isIt(pod *corev1.Pod, of *Subject) bool {
	if of.Kubelet.UID != "" {
		return string(pod.UID) == of.Kubelet.UID
	}
	return pod.Namespace == of.Name.Namespace && pod.Name == of.Name.Name
}

func isLeaving(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// maxDump bounds the part of the goroutine dump that is read, in bytes.
const maxDump = 32 << 20

// askDump asks for the stacks of the kubelet's goroutines. The kubelet stands still while it
// makes them, for milliseconds.
func (p *port) askDump(ctx context.Context) {
	var all []routine
	cut := false
	err := p.get(ctx, pathDump, url.Values{"debug": {"2"}}, maxDump, func(r io.Reader) (err error) {
		all, err = parseDump(r)
		if errors.Is(err, kubeapi.ErrTooLarge) {
			err, cut = nil, true
		}
		return err
	})
	if err != nil {
		p.part.missed(evidence.Port, pathDump, err)
		return
	}
	p.mu.Lock()
	p.dump = all
	p.mu.Unlock()
	p.part.put(func(s *evidence.Snapshot) {
		s.Saw(evidence.Port, pathDump, time.Now())
		if cut {
			s.Missed(evidence.Port, "the rest of "+pathDump, evidence.Failed, kubeapi.ErrTooLarge.Error())
		}
	})
}
