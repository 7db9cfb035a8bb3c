package causes

import (
	"fmt"
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
