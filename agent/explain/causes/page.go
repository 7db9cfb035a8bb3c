package causes

import (
	"fmt"
	"slices"
	"strings"
)

// Page returns what there is to say of a cause, in English, as Markdown. {name} stands for an argument of the finding.
func (c *Cause) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n**%s.** %s\n\n", c.ID, c.Title.En, c.Text.En)
	item := func(head, text string) {
		if text != "" {
			fmt.Fprintf(&b, "- %s: %s\n", head, text)
		}
	}
	for _, n := range c.Culprit {
		item("culprit", string(n.Kind)+" `"+n.Name+"`")
	}
	item("waits for", c.Chain.En)
	item("clock", c.Clock.En)
	item("kubectl shows", c.Shows.En)
	item("unless", c.Refute.En)
	item("where", "`"+c.Where+"`")
	for _, text := range c.readIn() {
		item("read in", text)
	}
	if len(c.After) > 0 {
		item("a consequence of", "`"+strings.Join(c.After, "`, `")+"`")
	}
	for _, a := range c.Next {
		text := a.Text.En
		if a.Run != "" {
			text += " `" + a.Run + "`"
		}
		item("do", text)
	}
	return b.String()
}

// readIn returns for which minor versions the functions that a cause cites were read: once if that is the same for all of them.
func (c *Cause) readIn() (out []string) {
	of := slices.DeleteFunc(c.Cited(), func(of Citation) bool { return of.Name == "" })
	for i := range of {
		if in := of[i].ReadIn(); i == 0 || in != out[0] {
			out = append(out, in)
		}
	}
	if len(out) < 2 {
		return out
	}
	out = nil
	for i := range of {
		out = append(out, of[i].ReadIn()+" (`"+of[i].Name+"`)")
	}
	return out
}
