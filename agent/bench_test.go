package agent

import (
	"context"
	goflag "flag"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// benchStep is the step that is measured: on the pod's worker, with one field and one result, in the shape that the
// weaver gives it.
var benchStep = probes.MustLoad().Step("sync.pod").ID

//go:noinline
func wovenStep(p *v1.Pod, update string) (terminal bool, err error) {
	if hook.Switches[benchStep] != 0 {
		if s, fault := hook.Enter(benchStep, func(to hook.To) { hook.Put(to, p); hook.Put(to, update) }); s != nil || fault != nil {
			defer hook.Leave(s, func() error { return err }, func(to hook.To) { hook.Put(to, terminal) })
			if fault != nil {
				err = fault
				return
			}
		}
	}
	return p == nil, nil
}

//go:noinline
func plainStep(p *v1.Pod, update string) (terminal bool, err error) { return p == nil, nil }

func benchAgent(b *testing.B) *Agent {
	b.Helper()
	sees := probes.Abilities{Probe: "woven", Steps: map[string]probes.Ability{"sync.pod": probes.Everything()}}
	a, err := New(probes.MustLoad(), Options{Probes: []probes.Abilities{sees}, QueueEvents: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	a.Attach()
	b.Cleanup(a.Close)
	return a
}

func BenchmarkHookOff(b *testing.B) {
	p := newPod("default", "web")
	perCall := func(f func(*v1.Pod, string) (bool, error)) float64 {
		begin := time.Now()
		for range b.N {
			_, _ = f(p, "sync")
		}
		return float64(time.Since(begin).Nanoseconds()) / float64(b.N)
	}
	b.ReportAllocs()
	plain := perCall(plainStep)
	b.ResetTimer()
	off := perCall(wovenStep)
	b.ReportMetric(off-plain, "ns-added/call")
}

// BenchmarkHookShare measures the cost of a step that is on and watched, as a part of the cost of one line of klog at
// V(4). Both take turns, a thousand calls each, and the medians are compared: if the machine does something else
// meanwhile, that slows only some of the turns.
func BenchmarkHookShare(b *testing.B) {
	p := newPod("default", "web")
	a := benchAgent(b)
	w, err := a.watch(&agentpb.WatchRequest{})
	if err != nil {
		b.Fatal(err)
	}
	go drain(b.Context(), w)
	klogToNowhere(b)
	const turn = 1000
	var ours, line []time.Duration
	measure := func(f func()) time.Duration {
		begin := time.Now()
		for range turn {
			f()
		}
		return time.Since(begin)
	}
	for range max(1, b.N/turn) {
		ours = append(ours, measure(func() { _, _ = wovenStep(p, "sync") }))
		// A kubelet does other things too: the queue is never long.
		<-a.journal.Kept()
		line = append(line, measure(func() { klog.V(4).InfoS("SyncPod enter", "pod", klog.KObj(p), "podUID", p.UID) }))
	}
	slices.Sort(ours)
	slices.Sort(line)
	step, klogLine := ours[len(ours)/2], line[len(line)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(step.Nanoseconds())/turn, "ns/step")
	b.ReportMetric(float64(klogLine.Nanoseconds())/turn, "ns/klog-line")
	b.ReportMetric(float64(step)/float64(klogLine), "of-klog-line")
}

func klogToNowhere(b *testing.B) {
	b.Helper()
	fs := goflag.NewFlagSet("klog", goflag.ContinueOnError)
	klog.InitFlags(fs)
	for k, v := range map[string]string{"v": "4", "logtostderr": "false", "stderrthreshold": "FATAL", "alsologtostderr": "false"} {
		if err := fs.Set(k, v); err != nil {
			b.Fatal(err)
		}
	}
	klog.SetOutput(io.Discard)
}

// BenchmarkHookOn measures entry and exit of a step while somebody watches,
// beside one line of klog at V(4) and one span of OpenTelemetry.
func BenchmarkHookOn(b *testing.B) {
	p := newPod("default", "web")
	b.Run("podstep", func(b *testing.B) {
		a := benchAgent(b)
		w, err := a.watch(&agentpb.WatchRequest{})
		if err != nil {
			b.Fatal(err)
		}
		go drain(b.Context(), w)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			if i%4096 == 4095 {
				// A kubelet does other things too: the queue is never long.
				b.StopTimer()
				<-a.journal.Kept()
				b.StartTimer()
			}
			_, _ = wovenStep(p, "sync")
		}
	})
	b.Run("klog", func(b *testing.B) {
		klogToNowhere(b)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			klog.V(4).InfoS("SyncPod enter", "pod", klog.KObj(p), "podUID", p.UID)
		}
	})
	b.Run("otel", func(b *testing.B) {
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discard{}))
		b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
		tracer := provider.Tracer("kubelet")
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			_, span := tracer.Start(context.Background(), "syncPod")
			span.SetAttributes(attribute.String("k8s.pod.uid", string(p.UID)), attribute.String("k8s.pod.name", p.Name))
			span.End()
		}
	})
}

type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

func drain(ctx context.Context, w *journal.Watcher) {
	for {
		if _, err := w.Next(ctx); err != nil {
			return
		}
	}
}

// BenchmarkThroughput measures events from the hook through the socket to a
// client, none lost. One operation is one event.
func BenchmarkThroughput(b *testing.B) {
	a := benchAgent(b)
	path := filepath.Join(b.TempDir(), "s")
	l, err := server.Listen(path)
	if err != nil {
		b.Fatal(err)
	}
	srv := Serve(a, l, server.Access{})
	b.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	stream, err := agentpb.NewAgentClient(conn).Watch(b.Context(), &agentpb.WatchRequest{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil { // caught up
		b.Fatal(err)
	}
	p := newPod("default", "web")
	// Events are made as fast as the client takes them, so that those on the way fit into the queues.
	onTheWay := make(chan struct{}, 1<<14)
	b.ResetTimer()
	go func() {
		for i := 0; i < b.N; i += 2 {
			onTheWay <- struct{}{}
			_, _ = wovenStep(p, "sync")
		}
	}()
	got, dropped := 0, 0
	for got < b.N {
		batch, err := stream.Recv()
		if err != nil {
			b.Fatal(err)
		}
		for range len(batch.Events) {
			if got++; got%2 == 0 {
				<-onTheWay
			}
		}
	}
	b.StopTimer()
	st := &agentpb.StatsResponse{}
	a.journal.AddStats(st)
	for _, n := range st.Dropped {
		dropped += int(n)
	}
	b.ReportMetric(float64(got)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(dropped), "dropped")
}

// BenchmarkMemory measures what an event costs in the flight recorder, by the recorder's own count and by the heap's.
func BenchmarkMemory(b *testing.B) {
	const events = 200_000
	for range b.N {
		a := benchAgent(b)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pods := make([]*v1.Pod, 200)
		for i := range pods {
			pods[i] = newPod("default", "web-"+itoa(uint32(i)))
		}
		for i := range events / 2 {
			_, _ = wovenStep(pods[i%len(pods)], "sync")
		}
		a.journal.Close()
		runtime.GC()
		runtime.ReadMemStats(&after)
		st := &agentpb.StatsResponse{}
		a.journal.AddStats(st)
		b.ReportMetric(float64(st.RecorderBytes)/events, "recorder-B/event")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/events, "heap-B/event")
		runtime.KeepAlive(a)
	}
}
