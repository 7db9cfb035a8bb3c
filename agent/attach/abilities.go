package attach

import (
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri"
)

// abilities says of every step whether it is seen here, why not, and of those
// that are seen at which no pod can be held. missing are the witnesses that
// cannot be asked, and why.
func abilities(c *probes.Catalogue, missing map[probes.Witness]string) (seen map[string]bool, unseen, noHold map[string]string) {
	seen, unseen, noHold = map[string]bool{}, cri.Unseen(), map[string]string{}
	for i := range c.Steps {
		s := &c.Steps[i]
		switch {
		case s.Outside():
			why, no := missing[s.Seen]
			if seen[s.Name] = !no; no {
				unseen[s.Name] = why
			} else {
				delete(unseen, s.Name)
			}
		case cri.OfStep(s.Name) != nil:
			seen[s.Name] = true
			if may, why := cri.Holdable(s.Name); !may {
				noHold[s.Name] = why
			}
		}
	}
	return seen, unseen, noHold
}
