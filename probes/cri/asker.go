package cri

import (
	"slices"
	"strings"
	"sync"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxAskers bounds the pods that an ImageAsker follows.
const maxAskers = 10_000

// maxPulled bounds the images that were pulled and whose size the puller is still to ask for.
const maxPulled = 100

// Wanted is an image that a pod's spec names, in the spec's order: those of
// init containers first.
type Wanted struct {
	// Container is the container that the image is for, or "" for the image of a volume.
	Container string
	Image     string
	// Init marks an init container; Sidecar one that goes on running.
	Init, Sidecar bool
}

// ImageAsker finds the pod for which the kubelet asks about an image. The request names the image alone. In the
// kubelet the worker of a pod makes it, which is about to make a container of the image. If several pods can be
// meant, none is found: no answer is better than a call in the wrong pod's story.
type ImageAsker struct {
	// Parallel is set if the kubelet pulls images in parallel.
	Parallel bool

	spec func(uid string) []Wanted

	mu   sync.Mutex
	pods map[string]*asker
	// pulled are images whose size the one puller of all pods asks for next.
	pulled map[string]int
}

// asker is a pod that has a sandbox.
type asker struct {
	live map[string]string // ids of its containers, by name
	done map[string]bool   // names of those that ended with code 0
	// under counts the calls of its worker that are under way: a worker that waits for a call asks nothing.
	under int
}

// NewImageAsker returns one that finds the images of a pod's spec with spec, which returns nil for a pod that it
// does not know. Such a pod may ask for any image, for as long as it has a sandbox.
func NewImageAsker(spec func(uid string) []Wanted) *ImageAsker {
	return &ImageAsker{spec: spec, pods: map[string]*asker{}, pulled: map[string]int{}}
}

// Load takes over the pods and containers that are there when podstep comes. A pod whose sandbox has stopped gets a
// new one before it asks. A pod with a sandbox may ask although it has no container yet.
func (a *ImageAsker) Load(pods []Pod, all []Container) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range pods {
		if p.Ready && a.pods[p.UID] == nil {
			a.add(p.UID)
		}
	}
	for _, c := range all {
		if p := a.pods[c.Pod.UID]; p != nil && !c.Exited {
			p.live[c.Name] = c.ID
		}
	}
}

// Began notes that a call of that pod has begun. Ended must follow for each.
func (a *ImageAsker) Began(r Request, uid string) {
	if !ofWorker(r) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.pods[uid]; p != nil {
		p.under++
	}
}

// ofWorker reports whether a call is one that only a pod's worker makes, and for which it waits.
func ofWorker(r Request) bool {
	switch r.message.(type) {
	case *runtimeapi.CreateContainerRequest, *runtimeapi.StartContainerRequest, *runtimeapi.PullImageRequest:
		return true
	}
	return false
}

// Ended notes how a call of that pod has ended.
func (a *ImageAsker) Ended(r Request, ans Answer, uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pods[uid]
	if p != nil && ofWorker(r) && p.under > 0 {
		p.under--
	}
	switch q := r.message.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		// All containers are made anew in a new sandbox.
		if delete(a.pods, uid); ans.Err == nil {
			a.add(uid)
		}
	case *runtimeapi.StopPodSandboxRequest:
		delete(a.pods, uid)
	case *runtimeapi.CreateContainerRequest:
		if p != nil && ans.Made != "" {
			name := q.GetConfig().GetMetadata().GetName()
			p.live[name] = ans.Made
			delete(p.done, name)
		}
	case *runtimeapi.PullImageRequest:
		if ans.Err == nil && !a.Parallel {
			a.notePulled(tagged(r.Ref.Image))
		}
	case *runtimeapi.RemoveContainerRequest:
		p.ended(q.ContainerId, false)
	case *runtimeapi.ContainerStatusRequest:
		s, _ := ans.message.(*runtimeapi.ContainerStatusResponse)
		if s.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
			p.ended(q.ContainerId, s.GetStatus().GetExitCode() == 0)
		}
	}
}

func (a *ImageAsker) add(uid string) *asker {
	if len(a.pods) >= maxAskers {
		clear(a.pods)
	}
	p := &asker{live: map[string]string{}, done: map[string]bool{}}
	a.pods[uid] = p
	return p
}

// ended notes that a container has ended, well or not.
func (p *asker) ended(id string, well bool) {
	if p == nil {
		return
	}
	for name, live := range p.live {
		if live == id {
			delete(p.live, name)
			p.done[name] = well
		}
	}
}

// notePulled notes that the puller asks about an image next. Such notes may never be used, as when podstep comes or
// goes, so only few are kept.
func (a *ImageAsker) notePulled(image string) {
	if len(a.pulled) >= maxPulled {
		clear(a.pulled)
	}
	a.pulled[image]++
}

// Asked returns the uid of the only pod that can have asked for an image now. It is to be called once for each
// call.
func (a *ImageAsker) Asked(image string) (uid string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	image = tagged(image)
	if n := a.pulled[image]; n > 0 {
		if a.pulled[image]--; n == 1 {
			delete(a.pulled, image)
		}
		return "", false
	}
	for u, p := range a.pods {
		if p.under > 0 || !p.mayAsk(a.spec(u), image) {
			continue
		}
		if ok {
			return "", false
		}
		uid, ok = u, true
	}
	return uid, ok
}

// mayAsk reports whether the pod's worker may come to ask for an image: that of the first init container that is
// not over or, after all of those, that of any container that does not run.
func (p *asker) mayAsk(spec []Wanted, image string) bool {
	if spec == nil {
		return true
	}
	begun, missing := p.begun(spec), false
	for _, w := range spec {
		if w.Container == "" || p.has(w, begun) {
			continue
		}
		if tagged(w.Image) == image {
			return true
		}
		missing = true
		if w.Init && !begun {
			break // what comes after it has its turn later
		}
	}
	// The images of volumes are asked for before any container is made.
	return missing && slices.ContainsFunc(spec, func(w Wanted) bool { return w.Container == "" && tagged(w.Image) == image })
}

// has reports whether no container is to be made of w: it runs, or its time is over.
func (p *asker) has(w Wanted, begun bool) bool {
	return p.live[w.Container] != "" || (w.Init && !w.Sidecar && (begun || p.done[w.Container]))
}

// begun reports whether the init containers are over: a container that is none of them runs.
func (p *asker) begun(spec []Wanted) bool {
	for _, w := range spec {
		if !w.Init && p.live[w.Container] != "" {
			return true
		}
	}
	return false
}

// tagged returns the image with the tag that the kubelet adds if there is none.
func tagged(image string) string {
	last := image[strings.LastIndexByte(image, '/')+1:]
	if strings.ContainsAny(last, ":@") {
		return image
	}
	return image + ":latest"
}
