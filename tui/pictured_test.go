package tui

import (
	"slices"
	"testing"
)

// Picture is where an action leads whose page is searched for secrets, by TestSimPicturesOfCanaries: that test presses
// Key and takes a picture when Title is there. Why is the reason why it does not press the key.
type Picture struct{ Key, Title, Why string }

const (
	byItself = "the test goes there by itself"
	noPage   = "it changes how a page is shown, and shows nothing else"
	noText   = "it shows no text of a pod but its name"
)

// Pictured has each action that a page or a view may open, by its id.
var Pictured = map[string]Picture{
	"look.pod":       {Key: "K", Title: "The pod as the kubelet has it"},
	"look.podevents": {Key: "X", Title: "Events of the pod"},

	"look.pipeline": {Why: byItself}, "look.timeline": {Why: byItself}, "look.events": {Why: byItself}, "look.why": {Why: byItself}, "look.compare": {Why: byItself}, "look.filter": {Why: byItself},
	"look.top":       {Why: "it shows names, times, and the detail of a call, which the test sees in the pipeline"},
	"screen.palette": {Why: byItself}, "screen.picture": {Why: byItself},

	"look.logs":  {Why: "docs/secrets.md: it shows what containers printed, to the person who may see it"},
	"look.stack": {Why: "it takes a kubelet with debug information: TestShown of probes/delve looks at its variables. A stack that a breakpoint kept has what podstep why prints, in which TestEveryCommand searches for secrets"},
	"look.copy":  {Why: "it copies what the screen shows"}, "look.record": {Why: "TestSimCanaries looks at such a file"},

	"look.freeze": {Why: noPage}, "look.follow": {Why: noPage}, "time.in": {Why: noPage}, "time.out": {Why: noPage}, "time.many": {Why: noPage}, "events.many": {Why: noPage}, "top.many": {Why: noPage}, "top.order": {Why: noPage},
	"screen.zoom": {Why: noPage}, "screen.narrower": {Why: noPage}, "screen.wider": {Why: noPage}, "screen.mouse": {Why: noPage}, "screen.lang": {Why: noPage}, "screen.theme": {Why: noPage},
	"screen.sort": {Why: noPage}, "screen.nodes": {Why: "it shows what podstep pods prints, in which TestEveryCommand searches for secrets"}, "screen.gone": {Why: noPage}, "screen.columns": {Why: noPage}, "screen.redraw": {Why: noPage}, "screen.help": {Why: noText},

	"why.walk": {Why: noText}, "hold.pod": {Why: noText}, "hold.mark": {Why: noText}, "hold.release": {Why: noText}, "hold.retry": {Why: noText}, "break.add": {Why: noText}, "break.list": {Why: noText}, "break.remove": {Why: noText},
}

// TestEveryPageIsPictured: each action that may show something of a pod is in the table, so that nobody forgets to search
// its page for secrets.
func TestEveryPageIsPictured(t *testing.T) {
	known := map[string]bool{}
	for _, a := range actions {
		known[a.id] = true
		p, ok := Pictured[a.id]
		switch {
		case !slices.Contains([]group{groupLook, groupHold, groupScreen}, a.group):
		case !ok:
			t.Errorf("%s is not in the table of pages that are searched for secrets", a.id)
		case (p.Key == "") == (p.Why == ""):
			t.Errorf("%s has neither a key nor a reason, or both", a.id)
		case p.Key != "" && !slices.Contains(a.keys, p.Key):
			t.Errorf("%s has no key %s", a.id, p.Key)
		}
	}
	for id := range Pictured {
		if !known[id] {
			t.Errorf("%s is in the table, and is no action", id)
		}
	}
}
