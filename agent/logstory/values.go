package logstory

import (
	"encoding/json"
	"regexp"
	"strings"
)

// namesIn returns the names in a list of pods: JSON, or as older kubelets print it, such as v1.25:
// [NAMESPACE/NAME NAMESPACE/NAME].
func namesIn(list string) (names []string) {
	if json.Unmarshal([]byte(list), &names) == nil {
		return names
	}
	inner, ok := strings.CutPrefix(list, "[")
	if inner, ends := strings.CutSuffix(inner, "]"); ok && ends {
		return strings.Fields(inner)
	}
	return nil
}

// plegEvent is one of PLEG's events.
type plegEvent struct{ Type, Data string }

// oldPLEGEvent is how older kubelets print it, such as v1.25.
var oldPLEGEvent = regexp.MustCompile(`^&\{ID:\S+ Type:(\w+) Data:(\w+)\}$`)

// readPLEGEvent reads an event of PLEG: JSON, or as older kubelets print it.
func readPLEGEvent(text string) (e plegEvent, ok bool) {
	if m := oldPLEGEvent.FindStringSubmatch(text); m != nil {
		return plegEvent{m[1], m[2]}, true
	}
	return e, json.Unmarshal([]byte(text), &e) == nil
}
