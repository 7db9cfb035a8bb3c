package walk

import (
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/tours"
)

// Card returns the walk as the screen shows it.
func (w *Walk) Card() *screen.TourCard {
	c := &screen.TourCard{
		Title: w.text(w.tour.Title), Stop: w.at + 1, Stops: len(w.stops),
		Whole: w.text(words.Text("{key:tour.read} reads all", "{key:tour.read} 看全文")),
	}
	switch {
	case w.phase == phaseIntro:
		c.Stop = 0
		c.Text = w.text(w.tour.Text)
		c.Wait = w.text(words.Text("{key:tour.next} begins · {key:tour.end} ends the walk", "{key:tour.next} 开始 · {key:tour.end} 结束导览"))
		if w.busy {
			c.Wait = w.text(words.Text("one moment · {key:tour.end} ends the walk", "请稍候 · {key:tour.end} 结束导览"))
		}
	case w.phase == phaseOver:
		c.Stop = len(w.stops)
		c.Text = w.text(w.tour.Ending)
		c.Wait = w.text(words.Text("{key:tour.next} ends the walk", "{key:tour.next} 结束导览"))
	case w.phase == phaseGoing:
		w.cardGoing(c)
	default:
		w.cardHere(c)
	}
	if w.err != "" {
		c.Wait = w.err + " · " + c.Wait
	}
	return c
}

func (w *Walk) cardGoing(c *screen.TourCard) {
	s := w.stops[w.at]
	c.Text = w.text(s.Title)
	if wait := w.text(s.Wait); wait != "" {
		c.Text += "\n" + wait
	}
	c.Wait = w.textf(words.Text("waiting for %s", "等待 %s"), s.Step)
	if step := probes.MustLoad().Step(s.Step); step != nil {
		c.Wait += ": " + w.text(step.Title)
	}
	if w.Desk.Now().Sub(w.since) > s.Within {
		c.Wait = w.textf(words.Text("%s has not come in %s; wait on, or {key:tour.end} ends the walk", "%s 在 %s 内还没有到来；继续等待，或按 {key:tour.end} 结束导览"), s.Step, s.Within)
	}
}

func (w *Walk) cardHere(c *screen.TourCard) {
	s := w.stops[w.at]
	c.Heading = w.text(s.Title)
	c.Text = w.text(s.Text)
	if q := s.Question; q != nil {
		c.Question = w.text(q.Text)
		if w.answer {
			c.Answer = w.text(q.Answer)
		}
	}
	switch {
	case w.busy:
		c.Wait = w.text(words.Text("one moment", "请稍候"))
	case s.Act != nil:
		c.Wait = w.textf(words.Text("{key:tour.next} does it: %s", "按 {key:tour.next} 执行：%s"), w.command(s))
	case w.at+1 == len(w.stops):
		c.Wait = w.text(words.Text("{key:tour.next} goes on to the end", "{key:tour.next} 到结尾"))
	default:
		c.Wait = w.text(words.Text("{key:tour.next} goes on", "{key:tour.next} 继续"))
	}
	if c.Question != "" && !w.answer {
		c.Wait += w.text(words.Text(" · {key:tour.answer} answers", " · {key:tour.answer} 看答案"))
	}
}

// Page returns the card as a page of its own, because a small screen has room only for the beginning of the card. It
// also has the manifest that the walk is about to apply.
func (w *Walk) Page() *ask.Page {
	c := w.Card()
	var lines []string
	for _, text := range []string{c.Heading, c.Text, c.Question, c.Answer, c.Wait} {
		if text != "" {
			lines = append(lines, strings.TrimSpace(text), "")
		}
	}
	if w.phase == phaseHere {
		if act := w.stops[w.at].Act; act != nil && act.Manifest != "" {
			lines = append(lines, strings.Split(strings.TrimSpace(act.Manifest), "\n")...)
		}
	}
	return &ask.Page{Title: c.Title, Lines: lines}
}

// Question returns the question of the present stop, or nil.
func (w *Walk) Question() *tours.Question {
	if w.phase != phaseHere {
		return nil
	}
	return w.stops[w.at].Question
}

// ToggleAnswer shows the answer to the stop's question, or hides it.
func (w *Walk) ToggleAnswer() { w.answer = !w.answer }
