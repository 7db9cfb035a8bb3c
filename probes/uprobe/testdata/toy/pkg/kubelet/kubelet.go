// Package kubelet has functions that look to a probe as some of the kubelet's do.
package kubelet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Pod is one. Its four texts are at 0, 16, 32 and 48, since at 64, and node at 88.
type Pod struct {
	UID, Namespace, Name, Version string

	Since time.Time
	Node  *Node
}

// Node is where a pod runs.
type Node struct {
	number int32
	Name   string // at 8
}

// Kubelet is the toy.
type Kubelet struct {
	workers podWorkers
	pods    []*Pod
	turns   int
}

type podWorkers struct {
	kl   *Kubelet
	mail []string
	done chan struct{}
}

// New makes a toy of three pods.
func New() *Kubelet {
	kl := &Kubelet{}
	kl.workers.kl = kl
	for i := range 3 {
		kl.pods = append(kl.pods, &Pod{
			UID: fmt.Sprintf("0000000%d-1111-4222-8333-444444444444", i), Namespace: "default", Name: fmt.Sprintf("web-%d", i), Version: fmt.Sprint(100 + i),
			Since: time.Unix(1700000000, 123456789), Node: &Node{int32(-7), "node-1"},
		})
	}
	kl.pods[2].Node = nil
	return kl
}

// Do does what a word names.
func (kl *Kubelet) Do(what string) {
	switch what {
	case "add":
		kl.HandlePodAdditions(kl.pods)
	case "worker":
		kl.workers.UpdatePod(kl.pods[0])
		<-kl.workers.done
	case "panic":
		kl.recovers(kl.pods[0])
	case "fail":
		for i := range 6 {
			_, _ = kl.SyncPod(kl.pods[1], i)
		}
	case "shapes":
		Shapes(5)
	case "grow":
		var done sync.WaitGroup
		done.Go(func() { // on a goroutine whose stack is small yet
			onStack := *kl.pods[1]
			kl.grows(&onStack, 2000)
		})
		done.Wait()
	}
}

// HandlePodAdditions has a list of pods.
//
//go:noinline
func (kl *Kubelet) HandlePodAdditions(pods []*Pod) {
	for _, p := range pods {
		kl.dispatch(p) // from here
	}
}

// dispatch is between two steps.
//
//go:noinline
func (kl *Kubelet) dispatch(pod *Pod) { _, _ = kl.SyncPod(pod, 0) }

// UpdatePod starts a worker.
//
//go:noinline
func (w *podWorkers) UpdatePod(pod *Pod) {
	w.mail, w.done = []string{"first", "second"}, make(chan struct{})
	go func() {
		defer close(w.done)
		w.podWorkerLoop(pod.UID)
	}()
}

// podWorkerLoop is the life of a worker. The compiler puts the turn's function into it.
//
//go:noinline
func (w *podWorkers) podWorkerLoop(uid string) {
	for {
		kind, ok := w.startPodSync(uid) // to begin
		if !ok {
			return
		}
		err := func() error {
			_, err := w.kl.SyncPod(w.kl.pods[0], len(w.mail)) // from the turn
			return err
		}()
		w.completeSync(uid, kind, err == nil) // at the end
	}
}

//go:noinline
func (w *podWorkers) startPodSync(uid string) (kind string, ok bool) {
	if len(w.mail) == 0 {
		return "", false
	}
	kind, w.mail = w.mail[0], w.mail[1:]
	return kind, true
}

//go:noinline
func (w *podWorkers) completeSync(uid, kind string, well bool) { w.kl.turns++; w.kl.nothing() }

//go:noinline
func (kl *Kubelet) nothing() {}

// typed is an error without memory.
type typed struct{}

func (typed) Error() string { return "typed" }

// odd is an error whose text a method makes.
type odd struct{ n int }

func (o *odd) Error() string { return fmt.Sprint("odd ", o.n) }

// SyncPod starts a goroutine, and fails in ways that the attempt chooses.
//
//go:noinline
func (kl *Kubelet) SyncPod(pod *Pod, attempt int) (terminal bool, err error) {
	var done sync.WaitGroup
	done.Go(func() { kl.mount(pod, attempt) })
	done.Wait()
	switch attempt {
	case 2:
		return false, errors.New("no such volume")
	case 3:
		return false, fmt.Errorf("mount volumes: %w", errors.New("no such volume"))
	case 4:
		return false, context.DeadlineExceeded
	case 5:
		return false, &odd{attempt}
	}
	return true, nil
}

//go:noinline
func (kl *Kubelet) mount(pod *Pod, attempt int) (mounted int32) { return int32(-attempt) }

func (kl *Kubelet) recovers(pod *Pod) {
	defer func() { _ = recover() }()
	kl.panics(pod)
}

// panics has a call in it that does not return either.
//
//go:noinline
func (kl *Kubelet) panics(pod *Pod) {
	kl.panicsInside(pod)
	println("never")
}

//go:noinline
func (kl *Kubelet) panicsInside(pod *Pod) {
	if pod.Name != "" {
		panic(typed{})
	}
}

// grows makes the stack grow, so that it and what the argument points at move.
//
//go:noinline
func (kl *Kubelet) grows(pod *Pod, depth int) (deep int) { return deepen(depth) }

//go:noinline
func deepen(n int) int {
	var room [100]int
	if n == 0 {
		return 0
	}
	room[n%100] = n
	return deepen(n-1) + room[n%100]&1
}
