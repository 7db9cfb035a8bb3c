//go:build bench

package attach

import (
	"context"
	"fmt"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// rhythmFor is for how long CPU is measured.
const rhythmFor = 20 * time.Second

// probed is how many of the pods have an exec probe, every ten seconds.
const probed = 50

// rhythm makes the calls of a kubelet with many pods, on all ways at the same time, and measures the CPU of the
// parts.
func (b *bench) rhythm() {
	n := len(b.ways)
	used, calls := make([]time.Duration, n), make([]int, n)
	for i, w := range b.ways {
		used[i] = w.cpu(b.t)
	}
	runtime := b.runtime.cpu(b.t)
	end := time.Now().Add(rhythmFor)
	var all sync.WaitGroup
	for i, w := range b.ways {
		all.Go(func() { calls[i] = b.kubelet(w, end) })
	}
	all.Wait()
	fmt.Printf("the calls of a kubelet with %d pods, one of which starts and one ends each second: %.0f calls a second\n",
		benchPods, float64(calls[0])/rhythmFor.Seconds())
	for i, w := range b.ways[1:] {
		used := w.cpu(b.t) - used[i+1]
		fmt.Printf("  %-22s %5.2f %% of one core, %d MiB of memory\n", w.name, percent(used), w.part.own(b.t)>>10)
	}
	fmt.Printf("  the runtime itself, for each of these: %.2f %%\n", percent(b.runtime.cpu(b.t)-runtime)/float64(n))
	s := b.stats()
	fmt.Printf("  podstep's flight recorder has %d of %d MiB\n", s.RecorderBytes>>20, s.RecorderLimit>>20)
}

func percent(d time.Duration) float64 { return 100 * d.Seconds() / rhythmFor.Seconds() }

// kubelet plays one kubelet until end. It returns how many calls it made.
func (b *bench) kubelet(w *way, end time.Time) (n int) {
	call := func(do func(ctx context.Context) error) {
		n++
		benchCall{"a kubelet's call", func(ctx context.Context, _ *way) error { return do(ctx) }}.on(b.t, w)
	}
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for half := 0; ; half++ {
		for _, do := range w.due(half) {
			call(do)
		}
		if time.Now().After(end) {
			return n
		}
		<-tick.C
	}
}

type calls []func(ctx context.Context) error

// due returns the calls of one half of a second.
func (w *way) due(half int) (out calls) {
	second, first := half/2, half%2 == 0
	if !first {
		return w.podLives(benchPods + second)
	}
	out = append(out, w.lists()...) // PLEG
	if second%2 == 0 {
		out = append(out, w.lists()...) // housekeeping
	}
	for k := range probed / 10 {
		out = append(out, w.execSync((second%10)*probed/10+k))
	}
	if second%5 == 0 {
		out = append(out, func(ctx context.Context) error {
			_, err := w.calls.Status(ctx, &runtimeapi.StatusRequest{})
			return err
		})
	}
	if second%10 == 0 {
		out = append(out, func(ctx context.Context) error { return callVersion.do(ctx, w) })
	}
	return out
}

func (w *way) lists() calls {
	return calls{
		func(ctx context.Context) error {
			_, err := w.calls.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
			return err
		},
		func(ctx context.Context) error {
			_, err := w.calls.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
			return err
		},
	}
}

func (w *way) execSync(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.calls.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: containerID(i), Cmd: []string{"/bin/ready"}, Timeout: 1})
		return err
	}
}

// podLives returns the calls of a pod's start, and of its end.
func (w *way) podLives(i int) calls {
	sandbox, container, image := sandboxID(i), containerID(i), &runtimeapi.ImageSpec{Image: "registry.local/web:1"}
	run := func(ctx context.Context) error {
		_, err := w.calls.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: benchSandbox(i)})
		return err
	}
	pulled := func(ctx context.Context) error {
		_, err := w.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: image})
		return err
	}
	create := func(ctx context.Context) error {
		_, err := w.calls.CreateContainer(ctx, benchCreate(i))
		return err
	}
	begin := func(ctx context.Context) error {
		_, err := w.calls.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: container})
		return err
	}
	pod := func(ctx context.Context) error {
		_, err := w.calls.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox})
		return err
	}
	status := func(ctx context.Context) error {
		_, err := w.calls.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: container})
		return err
	}
	stop := func(ctx context.Context) error {
		_, err := w.calls.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: container, Timeout: 30})
		return err
	}
	stopPod := func(ctx context.Context) error {
		_, err := w.calls.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox})
		return err
	}
	remove := func(ctx context.Context) error {
		_, err := w.calls.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: container})
		return err
	}
	removePod := func(ctx context.Context) error {
		_, err := w.calls.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox})
		return err
	}
	return calls{
		run, pod, pulled, create, begin, pod, status, // the pod starts, and PLEG sees that
		stop, pod, status, stopPod, pod, status, remove, stopPod, removePod,
	}
}
