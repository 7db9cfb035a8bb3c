// Package reasons has the reasons that probes give: why a step is not seen, why no pod is held there. Probes send
// their codes. A program that shows them needs the words on any system, without the code of the probes, which is
// for Linux alone.
package reasons

import "github.com/podstep/podstep/probes"

// why declares a reason.
func why(code, en, zh string) probes.ReasonCode {
	return probes.NewReason(code, probes.Text{En: en, Zh: zh})
}

// general has the reasons that a probe gives for all steps beyond where it looks.
var general = map[string]bool{}

// beyond declares a reason why a step is beyond where a probe looks.
func beyond(code, en, zh string) probes.ReasonCode {
	general[code] = true
	return why(code, en, zh)
}

// General reports whether a probe gives the reason for all steps beyond where it looks.
func General(r probes.Reason) bool { return general[r.Code] }

// Foremost returns which of the reasons that probes give says most about why none of them sees a step: the first one of a probe
// that looks where the step happens, else the first one. It returns no reason if there is none.
func Foremost(all []probes.Reason) (out probes.Reason) {
	for _, r := range all {
		if out.IsZero() || General(out) && !r.IsZero() && !General(r) {
			out = r
		}
	}
	return out
}
