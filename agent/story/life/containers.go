package life

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// Container is what is known about the tries to start a container of a pod. It is copied with the pod: a change makes
// a new list.
type Container struct {
	Name string
	// Failed is how many tries failed in a row: pulls of its image, and starts after which no container ran. It does
	// not count what the kubelet leaves out because of a back-off.
	Failed uint32
	// Restarts is how often the container was started again, as the kubelet counts; None: not known.
	Restarts int32
	// BackOff is why the container waits, and Until the session time at which the wait ends; 0: not known.
	BackOff BackOff
	Until   int64
	// Up is when the container was started, unless it was seen to end since; 0: it is not up.
	Up int64

	tried   int64 // when the last successful try began
	looping bool  // it was in a crash loop's back-off since the kubelet began to count
	init    bool  // an init container: it ends before the pod's other containers are started
	ready   bool  // as it was last reported
	done    bool  // it was last reported to have succeeded
}

// BackOff is why a container's next try has to wait.
type BackOff uint8

// The back-offs that the kubelet has for containers.
const (
	NoBackOff    BackOff = iota
	PullBackOff          // of its image: ImagePullBackOff
	CrashBackOff         // of its start: CrashLoopBackOff
)

// BackOffReset is how long a container must run until the kubelet forgets how often it has crashed, and begins again
// with the shortest back-off (newCrashLoopBackOff's HasExpiredFunc in pkg/kubelet/kubelet.go). Until then a crash, a
// start and a crash are one trouble, whether or not the container was ready.
const BackOffReset = 10 * time.Minute

// maxContainers bounds the containers and images of a pod that are kept: foreign
// events may name any number.
const maxContainers = 256

// Container returns what is known about a container of the pod, by its name.
func (p *Pod) Container(name string) (c Container, ok bool) {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return p.Containers[i], true
		}
	}
	return c, false
}

// change changes what is known about a container, in a new list.
func (p *Pod) change(name string, by func(*Container)) {
	i := slices.IndexFunc(p.Containers, func(c Container) bool { return c.Name == name })
	if i < 0 && (name == "" || len(p.Containers) >= maxContainers) {
		return
	}
	all := slices.Clone(p.Containers)
	if i < 0 {
		i, all = len(all), append(all, Container{Name: name, Restarts: None})
	}
	by(&all[i])
	p.Containers = all
}

// failed notes a try that failed.
func (c *Container) failed() {
	c.Failed++
	c.Up = 0
}

// began notes that a try to start the container has begun: if the container was up, it has ended.
func (c *Container) began(now int64) {
	if c.Up != 0 && c.BackOff == NoBackOff && since(c.tried, now) > BackOffReset {
		c.looping = false
	}
	c.Up, c.BackOff = 0, NoBackOff
}

// started notes that the container was started, by a try that began at the time tried.
func (c *Container) started(tried, now int64) {
	c.Failed, c.BackOff, c.Until, c.Up, c.tried = 0, NoBackOff, 0, now, tried
}

// waits notes that the container waits, until a time if that is known.
func (c *Container) waits(b BackOff, until int64) {
	c.BackOff, c.Until, c.Up = b, until, 0
	c.looping = c.looping || b == CrashBackOff
}

// isLooping reports whether the container is in a crash loop, up or not.
func (c *Container) isLooping(now int64) bool {
	return c.looping && (c.BackOff != NoBackOff || since(c.tried, now) <= BackOffReset)
}

// reportIs takes from a report whether the container is ready, or has done its work.
func (c *Container) reportIs(r *history.Record) {
	c.init = c.init || r.Field("init").Flag()
	c.ready = r.Field("ready").Flag()
	c.done = string(r.Field("state").Text) == "terminated" && r.Field("exitCode").Num == 0
}

// worksOn reports whether a pod is not ready only because some of its containers have done their work, while the others
// go on, such as in a Job.
func (p *Pod) worksOn() bool {
	done := false
	for i := range p.Containers {
		switch c := &p.Containers[i]; {
		case c.init:
		case c.done:
			done = true
		case !c.ready:
			return false
		}
	}
	return done && p.mayEnd
}

// initsDone notes that the pod's init containers have succeeded.
func (p *Pod) initsDone() {
	for i := range p.Containers {
		if c := p.Containers[i]; c.init && c.looping {
			p.change(c.Name, func(c *Container) { c.looping = false })
		}
	}
}

// Loop returns a container of the pod that was started again after a crash loop's back-off and is up, but not yet for
// BackOffReset.
func (p *Pod) Loop(now int64) (c Container, ok bool) {
	for i := range p.Containers {
		if c = p.Containers[i]; c.Up != 0 && c.isLooping(now) {
			return c, true
		}
	}
	return Container{}, false
}

// inTrouble reports whether the pod's trouble goes on: then what goes wrong now is part of the same trouble.
func (p *Pod) inTrouble(now int64) bool {
	return p.Failed != None || p.Blocked != None || p.Warned != None && p.Phase != Running ||
		slices.ContainsFunc(p.Containers, func(c Container) bool { return c.isLooping(now) })
}

// troubled notes that something went wrong, from a time on.
func (p *Pod) troubled(from, now int64) {
	if !p.inTrouble(now) {
		p.Trouble = from
	}
}

// Pull has how often the pulls of an image failed in a row, as a probe of the kubelet's calls sees them.
type Pull struct {
	Image  string
	Failed uint32

	last int64 // when the last call for it ended
}

// samePull is the longest time between two calls of one pull: the kubelet makes a call for each credential that it
// has. It begins no other pull before its back-off ends, which is 10 s at least.
const samePull = 5 * time.Second

// pulled notes a call that pulls an image.
func (p *Pod) pulled(image string, began, now int64, failed bool) {
	i := slices.IndexFunc(p.Pulls, func(l Pull) bool { return l.Image == image })
	if i < 0 && (!failed || image == "" || len(p.Pulls) >= maxContainers) {
		return
	}
	all := slices.Clone(p.Pulls)
	switch {
	case !failed:
		all = slices.Delete(all, i, i+1)
	case i < 0:
		all = append(all, Pull{Image: image, Failed: 1, last: now})
	default:
		if since(all[i].last, began) > samePull {
			all[i].Failed++
		}
		all[i].last = now
	}
	p.Pulls = all
}
