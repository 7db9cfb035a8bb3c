package dap

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// rule is when a breakpoint stops a pod that comes to its step.
type rule struct {
	filter *filter.Filter
	// plain: the filter is a list of conditions that all must hold, and on, slower and pods have all that they ask for.
	// If undecided is not empty, it names a condition that only a whole event can decide, which an agent does not have
	// yet when it holds a pod.
	plain     bool
	undecided string
	on        agentpb.On
	slower    time.Duration
	pods      *agentpb.PodSelector

	hits hitRule
}

// hitRule is on which hits a breakpoint acts: after the first ones, and on so many. Zero times is no bound.
type hitRule struct{ after, times uint32 }

var hitForm = regexp.MustCompile(`^\s*(==|=|>=|>|)\s*([0-9]{1,9})\s*$`)

// hitsOf reads a hit condition: N or == N is the Nth hit alone, >= N and > N are those from there on.
func hitsOf(text string) (h hitRule, err error) {
	if strings.TrimSpace(text) == "" {
		return h, nil
	}
	m := hitForm.FindStringSubmatch(text)
	if m == nil {
		return h, fmt.Errorf("the hit condition %q cannot be read; write it like 3, == 3, >= 3 or > 3", text)
	}
	n, err := strconv.ParseUint(m[2], 10, 32)
	if err != nil || n == 0 || n >= math.MaxInt32 {
		return h, fmt.Errorf("the hit condition %q counts from 1", text)
	}
	switch m[1] {
	case ">":
		return hitRule{after: uint32(n)}, nil
	case ">=":
		return hitRule{after: uint32(n) - 1}, nil
	}
	return hitRule{after: uint32(n) - 1, times: 1}, nil
}

// ruleOf reads a condition, which is a filter of podstep, and a hit condition. of are the pods of the session.
func ruleOf(condition, hits string, of *agentpb.PodSelector) (r rule, err error) {
	if r.filter, err = filter.Parse(condition); err != nil {
		return r, fmt.Errorf("the condition cannot be read: %v", err)
	}
	if r.hits, err = hitsOf(hits); err != nil {
		return r, err
	}
	r.pods = &agentpb.PodSelector{Namespace: of.GetNamespace(), Name: of.GetName(), Uid: of.GetUid()}
	terms, plain := r.filter.Terms()
	if r.plain = plain; !plain {
		r.undecided = condition
		return r, nil
	}
	for _, t := range terms {
		if !r.narrow(t) && r.undecided == "" {
			r.undecided = t.Key + t.Op + t.Value
		}
	}
	if r.slower > 0 && r.on == agentpb.On_ON_ERROR {
		r.undecided = "err together with slow"
	}
	return r, nil
}

// narrow takes one condition into what an agent decides. It returns false if an agent cannot decide it.
func (r *rule) narrow(t filter.Term) bool {
	switch t.Key {
	case "err":
		r.on = agentpb.On_ON_ERROR
		return true
	case "slow":
		d, err := time.ParseDuration(t.Value)
		r.slower = d
		return err == nil && d > 0 && t.Op[0] == '>'
	case "kind":
		if t.Op != "=" || t.Value != string(probes.Enter) && t.Value != string(probes.Exit) {
			return false
		}
		if t.Value == string(probes.Exit) && r.on == agentpb.On_ON_ENTER {
			r.on = agentpb.On_ON_EXIT
		}
		return true
	case "ns":
		return narrowTo(&r.pods.Namespace, t)
	case "pod":
		namespace, name, two := strings.Cut(t.Value, "/")
		if !two {
			return narrowTo(&r.pods.Name, t)
		}
		return narrowTo(&r.pods.Namespace, filter.Term{Op: t.Op, Value: namespace}) && narrowTo(&r.pods.Name, filter.Term{Op: t.Op, Value: name})
	}
	return false
}

// asGlob are the patterns of the filter language that mean the same in a selector of the agent.
var asGlob = regexp.MustCompile(`^[-a-z0-9.]*\*[-a-z0-9.*]*$`)

// narrowTo narrows a member of a selector, which may be a glob or empty. It returns false if the agent has no selector
// for both together.
func narrowTo(member *string, t filter.Term) bool {
	exact := t.Op == "="
	if !exact && (t.Op != "~" || !asGlob.MatchString(t.Value)) {
		return false
	}
	switch has := *member; {
	case has == "" || has == "*" || has == t.Value:
		*member = t.Value
		return true
	case exact && (&agentpb.PodSelector{Name: has}).Selects("", t.Value):
		*member = t.Value
		return true
	case !exact && !(&agentpb.PodSelector{Name: has}).HasGlob():
		return (&agentpb.PodSelector{Name: t.Value}).Selects("", has)
	}
	return false
}

// sides reports whether the rule looks at beginnings and at ends of calls.
func (r *rule) sides() (enter, exit bool) {
	if !r.plain {
		return true, true
	}
	atExit := r.on != agentpb.On_ON_ENTER || r.slower > 0
	return !atExit, atExit
}

// matches reports whether an event is one at which the rule acts, its hits aside.
func (r *rule) matches(e *probes.Event) bool {
	enter, exit := r.sides()
	if !(e.Kind == probes.Enter && enter || e.Kind == probes.Exit && exit) {
		return false
	}
	return (r.on != agentpb.On_ON_ERROR || e.Error != "") && (r.slower == 0 || time.Duration(e.DurationNs) >= r.slower) && r.filter.Match(e)
}

// acts reports whether the rule acts on its nth match.
func (h hitRule) acts(n uint32) bool {
	return n > h.after && (h.times == 0 || n <= h.after+h.times)
}
