package causes

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/words"
)

// admissionChecks are the checks of table/admission.yaml.
var admissionChecks = []check{otherRefusals}

const rejected = "Pod was rejected: "

// otherRefusals finds the kubelet's refusals whose reason the table does not have.
func otherRefusals(c *Case) []Finding {
	if c.Phase != Refused || !strings.HasPrefix(c.Spec.Status.Message, rejected) {
		return nil
	}
	st := &c.Spec.Status
	for _, cause := range All() {
		if cause.stage == "admission" && slices.ContainsFunc(cause.When, func(m Match) bool { return m.Pod != nil && len(c.matchPod(cause, m.Pod)) > 0 }) {
			return nil
		}
	}
	args := Args{"reason": st.Reason, "message": strings.TrimPrefix(st.Message, rejected)}
	return []Finding{c.found("admission.refused", "", args, Certain, c.Since, c.status(inStatus, words.Same(st.Reason+": "+st.Message), c.Since))}
}
