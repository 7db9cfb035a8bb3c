package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
)

// replayClock chooses the moment of a trace file that is shown. The state shows the world as it was at that moment.
type replayClock struct {
	// at is the present place in the file, of its length.
	at, of time.Duration
	speed  float64
	// playing is set while time goes on. from is the place and since the time at which that began. Time is counted
	// from there, so that no error adds up.
	playing bool
	from    time.Duration
	since   time.Time
	// turn tells the ticks of this play from those of an earlier one that was stopped.
	turn int
	// moved: a person has chosen a moment. Until then the clock is at the end.
	moved bool
}

// playMsg moves a playing replay forward.
type playMsg struct{ turn int }

// playEvery is how often a playing replay moves.
const playEvery = 33 * time.Millisecond

var speeds = []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 50}

func newReplayClock() *replayClock { return &replayClock{speed: 1} }

// grew notes that more of the file has been read.
func (r *replayClock) grew(m *Model) {
	m.showLink() // first: a replay's length does not depend on the present time
	at, of := m.state.Position()
	r.of = of
	if !r.moved {
		r.at = at
	}
	m.showLink()
}

// text returns the header's words about the replay.
func (r *replayClock) text(m *Model) string {
	word := m.text(words.Text("replay", "回放"))
	if r.playing {
		word = m.text(words.Text("playing", "播放"))
	}
	out := fmt.Sprintf("%s %s/%s", word, minutes(r.at), minutes(r.of))
	if r.speed != 1 {
		out += fmt.Sprintf(" ×%g", r.speed)
		if m.opts.ASCII {
			out = fmt.Sprintf("%s %s/%s x%g", word, minutes(r.at), minutes(r.of), r.speed)
		}
	}
	return out
}

// minutes writes a moment as 01:40, or as 1:01:40 in long files.
func minutes(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// seek goes to a moment.
func (r *replayClock) seek(m *Model, to time.Duration) {
	r.moved = true
	to = max(0, min(to, r.of))
	m.state.SeekTime(to)
	r.at = to
	r.from, r.since = to, m.clock.now()
	m.showLink()
}

func (r *replayClock) toggle(m *Model) tea.Cmd {
	r.turn++
	if r.playing {
		r.playing = false
		m.showLink()
		return nil
	}
	if r.at >= r.of {
		r.seek(m, 0)
	}
	r.playing, r.moved = true, true
	r.from, r.since = r.at, m.clock.now()
	m.showLink()
	return m.clock.after(playEvery, playMsg{r.turn})
}

// takePlay moves forward by the time that has passed.
func (m *Model) takePlay(msg playMsg) tea.Cmd {
	r := m.replay
	if r == nil || !r.playing || msg.turn != r.turn {
		return nil
	}
	to := r.from + time.Duration(float64(m.clock.now().Sub(r.since))*r.speed)
	r.at = min(to, r.of)
	m.state.SeekTime(r.at)
	if r.at >= r.of {
		r.playing = false
		m.showLink()
		return nil
	}
	m.showLink()
	return m.clock.after(playEvery, playMsg{r.turn})
}

func (r *replayClock) faster(m *Model, by int) {
	i := 0
	for i < len(speeds)-1 && speeds[i] < r.speed {
		i++
	}
	r.from, r.since = r.at, m.clock.now()
	r.speed = speeds[max(0, min(i+by, len(speeds)-1))]
	m.notice(m.textf(words.Text("speed ×%g", "速度 ×%g"), r.speed))
	m.showLink()
}

// stepEvent goes to the next or the previous event of the selected pod.
func (r *replayClock) stepEvent(m *Model, back bool) {
	r.playing = false
	r.turn++
	if back {
		m.state.StepBack()
	} else {
		m.state.StepForward()
	}
	r.moved = true
	r.at, _ = m.state.Position()
	m.showLink()
}
