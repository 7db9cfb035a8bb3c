package simcri

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// behaviourOf returns the behaviour of a pod (container is empty), or of one of its containers. It applies the rules
// of the scenario that fit, in their order, then the annotations of the pod, then those of the container.
func (sc *Scenario) behaviourOf(pod podName, container, image string, annotations map[string]string) (behaviour, error) {
	var b behaviour
	for _, r := range sc.Rules {
		if r.fits(pod, container, image) {
			for _, v := range r.values {
				if err := v.setting.apply(&b, v.text); err != nil {
					return b, err
				}
			}
		}
	}
	ours, err := readAnnotations(annotations)
	if err != nil {
		return b, err
	}
	for _, a := range ours {
		if a.container != "" && a.container != container {
			continue
		}
		if err := a.setting.apply(&b, a.value); err != nil {
			return b, fmt.Errorf("annotation %s%s: %w", Prefix, a.name, err)
		}
	}
	return b, nil
}

// podName is the name of a pod in rules and to people.
type podName struct{ namespace, name string }

type annotation struct {
	name, container, value string
	setting                Setting
}

// readAnnotations returns the annotations with our prefix, those of the whole pod first. An unknown name, or a value
// without a meaning, is an error: a fault that a person asked for and does not get would teach them something wrong.
func readAnnotations(all map[string]string) ([]annotation, error) {
	var ours []annotation
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name, is := strings.CutPrefix(key, Prefix)
		if !is {
			continue
		}
		a := annotation{name: name, value: all[key]}
		if container, rest, ok := strings.Cut(name, "."); ok {
			a.container, name = container, rest
		}
		var known bool
		if a.setting, known = settingByName(name); !known {
			return nil, fmt.Errorf("annotation %s: there is no %q; docs/sim.md lists what there is", key, name)
		}
		if a.setting.PodOnly && a.container != "" {
			return nil, fmt.Errorf("annotation %s: %s is said of the whole pod: %s%s", key, name, Prefix, name)
		}
		var probe behaviour
		if err := a.setting.apply(&probe, a.value); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", key, err)
		}
		ours = append(ours, a)
	}
	slices.SortStableFunc(ours, func(a, b annotation) int { return strings.Compare(a.container, b.container) })
	return ours, nil
}

// match reports whether a name fits a pattern, in which * is any text and ? any
// one byte.
func match(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0: // let the last star take one more
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
