//go:build bench

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// What it costs an API server with many nodes if podstep follows one of them: requests, bytes on the wire, and reads
// from its storage.

const (
	benchNodes      = 2000
	benchPods       = 10 // of each node, also of the lab's own
	benchDaemons    = 3  // how many of these are in kube-system
	benchEvents     = 5  // of each pod
	benchNamespaces = 98

	// Each pod restarts once an hour, with new events. A part of that hour is measured.
	benchPart  = 6 * time.Minute
	benchParts = int(time.Hour / benchPart)

	// benchFleet is for how many nodes the cost is calculated.
	benchFleet = 5000
)

func TestBench(t *testing.T) {
	node := labtest.StartSim(t)
	b := &bench{Lab: node, t: t, store: newStore(t, node)}
	own := b.ownPods()
	// The controllers would act on the other nodes, which do not run.
	for _, part := range []string{"kube-controller-manager", "kube-scheduler"} {
		b.signal(part, syscall.SIGSTOP)
		t.Cleanup(func() { b.signal(part, syscall.SIGCONT) })
	}
	b.fill()

	idle := b.sample()
	b.wait(benchPart / 6)
	before := b.sample()
	b.print("the API server by itself, a minute", idle, before)
	b.follow()
	b.settle()
	attached := b.sample()
	b.print("to attach", before, attached)
	b.hour(own)
	after := b.sample()
	b.print(fmt.Sprintf("%v after that", benchPart), attached, after)

	hour := benchParts * (after.in - attached.in + after.out - attached.out)
	perHour := benchParts * (after.requests - attached.requests)
	fmt.Printf("%d nodes: %.1f GB and %d requests to attach; then %.1f MB and %.1f requests a second\n", benchFleet,
		float64(benchFleet*(attached.in+attached.out-before.in-before.out))/1e9, benchFleet*(attached.requests-before.requests),
		float64(benchFleet*hour)/1e6/3600, float64(benchFleet*perHour)/3600)
}

type bench struct {
	*labtest.Lab
	t     *testing.T
	store *store

	in, out, requests atomic.Int64
	reports           atomic.Int64
	events            atomic.Int64 // of the reports
}

func (b *bench) signal(part string, signal syscall.Signal) {
	if err := syscall.Kill(b.State.Pids[part], signal); err != nil {
		b.t.Fatalf("signal %s: %v", part, err)
	}
}

// sample has what was counted up to one moment.
type sample struct {
	in, out, requests int
	reports, events   int
	cpu               float64 // of the API server, in seconds
	read              int     // events that it read from its storage for lists
	sent              int     // events that its storage sent for watches
}

func (b *bench) sample() sample {
	text, err := b.Client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(b.Context()).Raw()
	if err != nil {
		b.t.Fatal(err)
	}
	return sample{
		in: int(b.in.Load()), out: int(b.out.Load()), requests: int(b.requests.Load()),
		reports: int(b.reports.Load()), events: int(b.events.Load()),
		cpu:  metric(b.t, text, "process_cpu_seconds_total"),
		read: int(metric(b.t, text, "apiserver_storage_list_fetched_objects_total", `resource="events"`)),
		sent: int(metric(b.t, text, "apiserver_storage_events_received_total", `resource="events"`)),
	}
}

// metric returns the sum of a metric's values that have the labels.
func metric(t *testing.T, text []byte, name string, labels ...string) (sum float64) {
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && (f[0] == name || strings.HasPrefix(f[0], name+"{")) && containsAll(f[0], labels) {
			n, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

func (b *bench) print(what string, from, to sample) {
	fmt.Printf("%s: %d requests, %.1f kB in, %.1f kB out; %d reports, %d of events; API server: %.1f s CPU, %d events read for lists, %d received for watches\n",
		what, to.requests-from.requests, float64(to.in-from.in)/1e3, float64(to.out-from.out)/1e3,
		to.reports-from.reports, to.events-from.events, to.cpu-from.cpu, to.read-from.read, to.sent-from.sent)
}

// wait waits for a time, unless the test ends.
func (b *bench) wait(d time.Duration) {
	select {
	case <-b.t.Context().Done():
	case <-time.After(d):
	}
}

// settle waits until no more reports come.
func (b *bench) settle() {
	const still = 5
	for quiet := 0; quiet < still; quiet++ {
		before := b.in.Load()
		b.wait(time.Second)
		if b.in.Load() != before {
			quiet = -1
		}
	}
}

// follow follows the node until the test ends.
func (b *bench) follow() {
	config, err := clientcmd.BuildConfigFromFlags("", b.State.Kubeconfig)
	if err != nil {
		b.t.Fatal(err)
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return &countedConn{Conn: c, bench: b}, err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return countedRequests{next, &b.requests}
	})
	b.run(config)
}

func (b *bench) run(config *rest.Config) {
	c, err := New(Options{
		Node: b.State.Node, API: config,
		Report: func(r Report) {
			b.reports.Add(1)
			if r.Step == stepEvent {
				b.events.Add(1)
			}
		},
		Note:  func(text string, err error) { b.t.Logf("noted: %s: %v", text, err) },
		State: func(by probes.Witness, err error) { b.t.Logf("%s: %v", by, err) },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var ran sync.WaitGroup
	ran.Go(func() { c.RunAPI(b.t.Context()) })
	b.t.Cleanup(ran.Wait)
}

type countedConn struct {
	net.Conn
	bench *bench
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bench.in.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bench.out.Add(int64(n))
	return n, err
}

type countedRequests struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (c countedRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.next.RoundTrip(r)
}

// namespaceOf returns the namespace of the i-th pod of a node.
func namespaceOf(node, i int) string {
	if i < benchDaemons {
		return "kube-system"
	}
	return fmt.Sprintf("team-%02d", (node*(benchPods-benchDaemons)+i)%benchNamespaces)
}

// ownPods makes the pods of the lab's own node, whose kubelet runs them.
func (b *bench) ownPods() (own []*v1.Pod) {
	for i := range benchPods {
		namespace := namespaceOf(0, i)
		_, err := b.Client.CoreV1().Namespaces().Create(b.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			b.t.Fatal(err)
		}
		account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		_, err = b.Client.CoreV1().ServiceAccounts(namespace).Create(b.Context(), account, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			b.t.Fatal(err)
		}
		p := labtest.BusyboxPod(fmt.Sprintf("own-%d", i), labtest.Sleep)
		p.Namespace, p.Spec.NodeName, p.Spec.AutomountServiceAccountToken = namespace, b.State.Node, new(bool)
		own = append(own, p)
		b.Create(p)
		waitRunningIn(b.t, b.Lab, p)
	}
	return own
}

func waitRunningIn(t *testing.T, node *labtest.Lab, p *v1.Pod) {
	w, err := node.Client.CoreV1().Pods(p.Namespace).Watch(node.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + p.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if p, ok := e.Object.(*v1.Pod); ok && p.DeletionTimestamp == nil && p.Status.Phase == v1.PodRunning {
			return
		}
	}
	t.Fatalf("%s does not run", p.Name)
}

// restart ends and starts a pod again, as happens to each pod once an hour.
func (b *bench) restart(p *v1.Pod) {
	pods := b.Client.CoreV1().Pods(p.Namespace)
	w, err := pods.Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + p.Name})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	if err := pods.Delete(b.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	for e := range w.ResultChan() {
		if e.Type == "DELETED" {
			break
		}
	}
	b.Create(p)
	waitRunningIn(b.t, b.Lab, p)
}

// fill writes the other nodes, their pods and the pods' events straight into the API server's storage. Pods and
// events are copies of the lab's own.
func (b *bench) fill() {
	began := time.Now()
	pods, err := b.Client.CoreV1().Pods("kube-system").List(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=own-0"})
	if err != nil || len(pods.Items) != 1 {
		b.t.Fatalf("%d pods: %v", len(pods.Items), err)
	}
	b.store.pod = pods.Items[0]
	events, err := b.Client.CoreV1().Events("kube-system").List(b.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=own-0"})
	if err != nil || len(events.Items) == 0 {
		b.t.Fatalf("no events: %v", err)
	}
	b.store.events = events.Items
	for node := 1; node <= benchNodes; node++ {
		b.store.putNode(node)
		for i := range benchPods {
			b.store.putPod(node, i)
			for k := range benchEvents {
				b.store.putEvent(node, i, k)
			}
		}
	}
	b.store.flush()
	fmt.Printf("%d nodes with %d pods and %d events are made in %v\n", benchNodes, benchNodes*benchPods,
		benchNodes*benchPods*benchEvents, time.Since(began).Round(time.Second))
	// The API server's watch cache takes a while to have them.
	for {
		list, err := b.Client.CoreV1().Pods("").List(b.Context(), metav1.ListOptions{ResourceVersion: "0", FieldSelector: "spec.nodeName=" + nodeName(benchNodes)})
		if err != nil {
			b.t.Fatal(err)
		}
		if len(list.Items) == benchPods {
			return
		}
		b.wait(time.Second)
	}
}

// hour plays a part of an hour: events of the other nodes' pods, at the pace of that hour, and the restart of one pod
// of the lab's node.
func (b *bench) hour(own []*v1.Pod) {
	steps := int(benchPart / time.Second)
	each := benchNodes * benchPods * benchEvents / benchParts / steps
	var ran sync.WaitGroup
	ran.Go(func() {
		b.wait(benchPart / 2) // the pod is calm by then: podstep watches it no more
		b.restart(own[benchDaemons])
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range steps {
		for range each {
			b.store.putEvent(1+rand.N(benchNodes), rand.N(benchPods), rand.N(benchEvents))
		}
		b.store.flush()
		<-tick.C
	}
	ran.Wait()
}
