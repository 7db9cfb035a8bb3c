// Package reasons has the reasons that probes give: why a step is not seen, why no pod is held there. Probes send
// their codes. A program that shows them needs the words on any system, without the code of the probes, which is
// for Linux alone.
package reasons

import "github.com/podstep/podstep/probes"

// why declares a reason.
func why(code, en, zh string) probes.ReasonCode {
	return probes.NewReason(code, probes.Text{En: en, Zh: zh})
}
