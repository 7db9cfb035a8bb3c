package logstory

import (
	"time"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// pulls are the images that are pulled, by name. The runtime's log does not say for which pod; the kubelet's event
// about the pull does, a moment before or after.
type pulls map[string]*pull

// pull is what is known of an image that is pulled.
type pull struct {
	pod     *pod // of the kubelet's event
	step    *probes.Step
	began   time.Time // of the runtime's line; zero: there was none
	started bool      // its call is open
	request string    // of CRI-O, whose line of the end does not name the image
}

// maxPulls bounds the images that are remembered.
const maxPulls = 1 << 12

func (t *reporter) pull(image string) *pull {
	k := t.pulls[image]
	if k == nil {
		if len(t.pulls) >= maxPulls {
			clear(t.pulls)
		}
		k = &pull{}
		t.pulls[image] = k
	}
	return k
}

// learn notes for which pod an image is pulled.
func (pulls) learn(t *reporter, image string, p *pod) {
	k := t.pull(image)
	k.pod = p
	t.startPull(image, k)
}

// startPull begins the call once its pod is known.
func (t *reporter) startPull(image string, k *pull) {
	if k.pod == nil || k.step == nil || k.began.IsZero() || k.started {
		return
	}
	k.started = true
	t.begin(k.step, k.pod, &found{values: map[string]string{"image": image}, which: image}, k.began)
}

// addPull makes the events of a line of the runtime about a pull.
func (t *reporter) addPull(step *probes.Step, c *criLine, at time.Time) {
	if c.ended && c.image == "" {
		c.image = t.pulls.requested(c.request)
	}
	k := t.pull(c.image)
	if !c.ended {
		k.request = c.request
		k.step, k.began = step, at
		t.startPull(c.image, k)
		return
	}
	if k.started {
		var results []wire.Field
		if c.made != "" {
			results = append(results, wire.Text("imageRef", shown(c.made)))
		}
		t.finishStep(step, k.pod, c.image, at, results, c.err)
	}
	delete(t.pulls, c.image)
}

// requested returns the image that CRI-O pulls by a request; empty: it is not known.
func (p pulls) requested(request string) string {
	for image, k := range p {
		if k.request == request {
			return image
		}
	}
	return ""
}
