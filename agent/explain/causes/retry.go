package causes

import (
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// retryAdvice follows the advice of a cause for which the kubelet backs off, where podstep retry can end that.
var retryAdvice = Advice{
	Text: words.Text("When it is mended, have the kubelet try again at once; that ends the back-off.", "解决之后，让 kubelet 立即重试；这会结束退避。"),
	Run:  "podstep retry {pod} -n {namespace}",
}

// backsOff has the stages whose causes make the kubelet back off.
var backsOff = map[string]bool{"image": true, "start": true, "init": true, "volumes": true}

// volumesBackOff is the cause of a pod that waits for nothing but the end of a back-off.
const volumesBackOff = "volumes.backOff"

// offerRetry marks the findings for which the agent can end the back-off of the pod.
func (c *Case) offerRetry(r *Report) {
	if c.Story == nil || !c.Story.Retries || c.Story.Deleting {
		return
	}
	tries := r.State == life.Stuck || r.State == life.Retrying
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Retries = f.Cause.ID == volumesBackOff || tries && backsOff[f.Cause.Stage()]
	}
}
