package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/mcp"
	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes/words"
)

// oncall answers an assistant on call, by the functions that answer the command line. It connects to an agent as a
// client.Reader, and asks API servers by a config that only reads.
type oncall struct {
	app        *app
	from       whyFrom
	recordings []recording
	// live says that agent and cluster are asked where no recording is named.
	live bool
}

// here returns an app for one question. What it would print for a person at a terminal goes to notes.
func (o *oncall) here() (a *app, notes *bytes.Buffer) {
	notes = &bytes.Buffer{}
	return &app{name: o.app.name, where: o.app.where, out: io.Discard, err: notes}, notes
}

// unseenIn returns the lines of notes: each says what could not be read.
func unseenIn(notes *bytes.Buffer) []string {
	return strings.FieldsFunc(notes.String(), func(r rune) bool { return r == '\n' })
}

// Why answers as podstep why does.
func (o *oncall) Why(ctx context.Context, q mcp.WhyQuestion) (*mcp.Answer, error) {
	a, err := o.why(ctx, q)
	return a, ofTool(err)
}

func (o *oncall) why(ctx context.Context, q mcp.WhyQuestion) (*mcp.Answer, error) {
	a, notes := o.here()
	f := &whyFlags{name: podName{q.Namespace}, from: o.from, all: q.Pod == ""}
	r, err := o.recording(q.Recording)
	if err != nil {
		return nil, err
	}
	e := mcp.Evidence{Source: "what each finding's evidence names", At: time.Now()}
	var missing []string
	if r != nil {
		f.trace, f.all = r.path, false
		if q.Pod == "" && q.Namespace != "" {
			return nil, errors.New("a recording is asked about one pod or about all: leave out the namespace, or name the pod")
		}
		info, err := r.about(ctx, a)
		if err != nil {
			return nil, err
		}
		e, missing = evidenceOf(r.called(), info), unseenOf(info)
	}
	ask, err := a.question(ctx, f, q.Pod)
	if err != nil {
		return nil, err
	}
	answer, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	switch answer := answer.(type) {
	case *oneAnswer:
		e.At = answer.Taken
	case *manyAnswer:
		e.At = answer.taken
	}
	return &mcp.Answer{Evidence: e, Unseen: append(missing, unseenIn(notes)...), Result: answer.data(words.English)}, nil
}

// Pods answers as podstep pods does.
func (o *oncall) Pods(ctx context.Context, q mcp.PodsQuestion) (*mcp.Answer, error) {
	a, err := o.pods(ctx, q)
	return a, ofTool(err)
}

func (o *oncall) pods(ctx context.Context, q mcp.PodsQuestion) (*mcp.Answer, error) {
	name := podName{q.Namespace}
	sel, err := name.some(q.Pods)
	if err != nil {
		return nil, err
	}
	r, err := o.recording(q.Recording)
	if err != nil {
		return nil, err
	}
	a, notes := o.here()
	out, pods, err := o.states(ctx, a, r, sel)
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 && sel.Name != "" && !sel.HasGlob() {
		return nil, fmt.Errorf("there is no pod %s in what %s knows; pods without arguments lists all", sel.Written(), out.Evidence.Source)
	}
	out.Unseen = append(out.Unseen, unseenIn(notes)...)
	out.Result = newPodsJSON(onOneNode(pods))
	return out, nil
}

// states returns the states of pods, by a recording or by the agent.
func (o *oncall) states(ctx context.Context, a *app, r *recording, sel *agentpb.PodSelector) (*mcp.Answer, []*agentpb.PodState, error) {
	if r != nil {
		open, err := r.open(ctx, a)
		if err != nil {
			return nil, nil, err
		}
		defer open.Close()
		t, err := gather.ReadRecording(r.name, open, time.Time{})
		if err != nil {
			return nil, nil, err
		}
		info := open.Header().Info
		out := &mcp.Answer{Evidence: evidenceOf(r.called(), info), Unseen: append(t.Broken(), unseenOf(info)...)}
		out.Evidence.At = t.End()
		return out, t.States(sel), nil
	}
	c, err := a.dialReader(ctx)
	if err != nil {
		return nil, nil, noAgentFor(err)
	}
	defer c.Close()
	pods, err := a.podStates(ctx, c, sel)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.Answer{Evidence: evidenceOf(agentSource, c.About()), Unseen: unseenOf(c.About())}, pods, nil
}

// noAgentFor adds to an error what can still be asked.
func noAgentFor(err error) error {
	if client.KindOf(err) == client.NoAgent {
		return fmt.Errorf("%w; without an agent, why asks the API server and steps explains the steps", err)
	}
	return err
}

// Compare answers as podstep compare does.
func (o *oncall) Compare(ctx context.Context, q mcp.CompareQuestion) (*mcp.Answer, error) {
	a, err := o.compare(ctx, q)
	return a, ofTool(err)
}

func (o *oncall) compare(ctx context.Context, q mcp.CompareQuestion) (*mcp.Answer, error) {
	if q.A == "" || q.B == "" {
		return nil, errors.New("two pods are compared: name both, as a and b")
	}
	f := &compareFlags{podName: podName{q.Namespace}, part: choice{value: compare.Creation.String(), of: compare.Parts}}
	if q.Part != "" {
		if err := f.part.Set(q.Part); err != nil {
			return nil, fmt.Errorf("part %q: %w", q.Part, err)
		}
	}
	first, err := o.recording(q.Recording)
	if err != nil {
		return nil, err
	}
	second, err := o.recording(q.RecordingB)
	switch {
	case err != nil:
		return nil, err
	case q.RecordingB != "" && first == nil:
		return nil, errors.New("recordingB is named and recording is not: a pod of the agent is not compared with one of a recording; name both")
	case q.RecordingB == "":
		second = first
	}
	a, notes := o.here()
	if first != nil {
		f.files = []string{first.path, second.path}
	}
	out, err := o.aboutBoth(ctx, a, first, second)
	if err != nil {
		return nil, err
	}
	result, err := a.comparison(ctx, []string{q.A, q.B}, f)
	if err != nil {
		return nil, err
	}
	out.Unseen = append(out.Unseen, unseenIn(notes)...)
	out.Result = newCompareJSON(result)
	return out, nil
}

// aboutBoth returns an answer with what is known of the recordings of two pods, or of the agent that both are of.
func (o *oncall) aboutBoth(ctx context.Context, a *app, first, second *recording) (*mcp.Answer, error) {
	source, info, err := o.about(ctx, a, first)
	if err != nil {
		return nil, err
	}
	out := &mcp.Answer{Evidence: evidenceOf(source, info), Unseen: unseenOf(info)}
	if first == nil {
		return out, nil
	}
	out.Evidence.At = time.Time{} // the steps have times of their own
	if second == first {
		return out, nil
	}
	if info, err = second.about(ctx, a); err != nil {
		return nil, err
	}
	out.Evidence.Source += " for a, " + second.called() + " for b"
	for _, u := range unseenOf(info) {
		out.Unseen = append(out.Unseen, "for b: "+u)
	}
	return out, nil
}

// Steps answers as podstep steps does.
func (o *oncall) Steps(ctx context.Context, q mcp.StepsQuestion) (*mcp.Answer, error) {
	a, err := o.steps(ctx, q)
	return a, ofTool(err)
}

func (o *oncall) steps(ctx context.Context, q mcp.StepsQuestion) (*mcp.Answer, error) {
	f := &stepsFlags{stage: q.Stage, tier: q.Tier, lang: choice{value: string(words.English)}}
	_, data, err := f.entries(q.Step)
	if err != nil {
		return nil, err
	}
	out := &mcp.Answer{Evidence: mcp.Evidence{Source: "podstep's catalogue of steps", At: time.Now()}}
	if q.Seen {
		r, err := o.recording(q.Recording)
		if err != nil {
			return nil, err
		}
		a, _ := o.here()
		source, info, err := o.about(ctx, a, r)
		if err != nil {
			return nil, err
		}
		addReach(data, info, words.English)
		out.Evidence, out.Unseen = evidenceOf(source, info), unseenOf(info)
	}
	out.Result = data
	return out, nil
}

// Doctor answers as podstep doctor does.
func (o *oncall) Doctor(ctx context.Context, _ mcp.DoctorQuestion) (*mcp.Answer, error) {
	if !o.live {
		return nil, errors.New("podstep answers from recordings here, and looks at no machine: the evidence and the unseen of the other tools say what a recording has")
	}
	a, _ := o.here()
	return &mcp.Answer{
		Evidence: mcp.Evidence{Source: "this machine", At: time.Now()},
		Result:   reach.Lines(words.English, a.doctorChecks(ctx)),
	}, nil
}
