package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes/words"
)

// stackJSON is what podstep stack and podstep print write as JSON.
type stackJSON struct {
	Pod       string         `json:"pod"`
	Step      string         `json:"step"`
	Frames    []frameJSON    `json:"frames,omitempty"`
	Arguments []variableJSON `json:"arguments,omitempty"`
	Locals    []variableJSON `json:"locals,omitempty"`
	Value     *variableJSON  `json:"value,omitempty"`
	Without   string         `json:"without,omitempty"`
	// Goroutines are those on which steps of the pod are under way. The first one is held.
	Goroutines []goroutineJSON `json:"goroutines,omitempty"`
	Stood      string          `json:"stood"`
}

type goroutineJSON struct {
	ID   uint64 `json:"id"`
	Step string `json:"step"`
}

type frameJSON struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int32  `json:"line,omitempty"`
}

func newFrameJSON(f *agentpb.StackFrame) frameJSON {
	return frameJSON{f.GetFunction(), f.GetFile(), f.GetLine()}
}

type variableJSON struct {
	Name  string `json:"name,omitempty"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

func newStackJSON(l *agentpb.LookResponse) stackJSON {
	pod := podOf(l.GetPod())
	out := stackJSON{Pod: lines.FullName(&pod), Step: l.GetStep(), Without: l.GetWithout(), Stood: l.GetStood().AsDuration().String()}
	for _, f := range l.GetFrames() {
		out.Frames = append(out.Frames, newFrameJSON(f))
	}
	for _, g := range l.GetGoroutines() {
		out.Goroutines = append(out.Goroutines, goroutineJSON{g.GetId(), g.GetStep()})
	}
	out.Arguments, out.Locals = variablesJSON(l.GetArguments()), variablesJSON(l.GetLocals())
	if v := l.GetValue(); v != nil {
		out.Value = &variablesJSON([]*agentpb.Variable{v})[0]
	}
	return out
}

func variablesJSON(all []*agentpb.Variable) (out []variableJSON) {
	for _, v := range all {
		out = append(out, variableJSON{v.GetName(), v.GetType(), v.GetValue()})
	}
	return out
}

// lookFlags are the flags of the commands that ask a debugger about a held pod.
type lookFlags struct {
	podName
	frame     uint32
	goroutine uint64
	out       format
}

func (f *lookFlags) add(cmd *cobra.Command) {
	f.podName.add(cmd)
	f.out.add(cmd, "json", "yaml")
	cmd.Flags().Uint32Var(&f.frame, "frame", 0, "in frame `N` of the stack")
	cmd.Flags().Uint64Var(&f.goroutine, "goroutine", 0, "on goroutine `ID` of the pod (default: the one that is held)")
}

func (f *lookFlags) request(pod, expression string) (*agentpb.LookRequest, error) {
	sel, err := f.one(pod)
	return &agentpb.LookRequest{Pods: sel, Frame: f.frame, Goroutine: f.goroutine, Expression: expression}, err
}

// stack is the command by which a debugger shows where a pod is held.
func (a *app) stack() *cobra.Command {
	var flags lookFlags
	var goroutines bool
	cmd := &cobra.Command{
		Use:   "stack POD [-n NAMESPACE] [--frame N] [--goroutine ID] [--goroutines] [-o json|yaml]",
		Short: "Show the stack and the variables where a pod is held",
		Long: `Shows the functions that are under way on the goroutine of a held pod, with their
places in the source, and the arguments and local variables of one of them. It takes
a debugger: podstep attach --probe delve. The kubelet has variables only if it was
built with debug information; the kubelet stands still while they are read.
--goroutines lists the goroutines on which steps of the pod are under way.`,
		Example: `  podstep stack web
  podstep stack web --frame 1
  podstep stack web --goroutines`,
		Args:              arguments(1, 1, "POD"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := flags.request(args[0], "")
			if err != nil {
				return err
			}
			return a.look(cmd.Context(), req, &flags.out, func(w io.Writer, s *stackJSON) {
				if goroutines {
					s.printGoroutines(w)
					return
				}
				s.print(w, int(flags.frame))
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&goroutines, "goroutines", false, "list the pod's goroutines instead")
	return cmd
}

// printValue is the command by which a debugger evaluates an expression where a pod is held.
func (a *app) printValue() *cobra.Command {
	var flags lookFlags
	cmd := &cobra.Command{
		Use:   "print POD EXPRESSION [-n NAMESPACE] [--frame N] [--goroutine ID] [-o json|yaml]",
		Short: "Evaluate an expression where a pod is held",
		Long: `Evaluates an expression in the function in which a pod is held, as Delve's print does.
It takes a debugger, podstep attach --probe delve, and a kubelet with debug
information.`,
		Example: `  podstep print web pod.Name
  podstep print web 'pod.Spec.Containers[0]' --frame 1`,
		Args: arguments(2, 2, "POD EXPRESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := flags.request(args[0], args[1])
			if err != nil {
				return err
			}
			return a.look(cmd.Context(), req, &flags.out, func(w io.Writer, s *stackJSON) {
				fmt.Fprintln(w, words.Clean(s.Value.Value))
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (a *app) look(ctx context.Context, req *agentpb.LookRequest, out *format, print func(io.Writer, *stackJSON)) error {
	c, err := a.dialNodeOf(ctx, req.Pods)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.Look(ctx, req)
	if err != nil {
		return err
	}
	data := newStackJSON(answer)
	return out.print(a.out, data, func(w io.Writer) { print(w, &data) })
}

// print prints a stack for people.
func (s *stackJSON) print(w io.Writer, frame int) {
	fmt.Fprintf(w, "%s is held at %s\n", words.Clean(s.Pod), words.Clean(s.Step))
	for i, f := range s.Frames {
		mark := " "
		if i == frame {
			mark = ">"
		}
		fmt.Fprintf(w, "%s%3d  %s\n        %s:%d\n", mark, i, words.Clean(f.Function), words.Clean(f.File), f.Line)
	}
	for _, of := range []struct {
		title string
		all   []variableJSON
	}{{"arguments", s.Arguments}, {"local variables", s.Locals}} {
		if len(of.all) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s of %s\n", of.title, words.Clean(path.Base(s.Frames[frame].Function)))
		for _, v := range of.all {
			fmt.Fprintf(w, "  %s = %s\n", words.Clean(v.Name), words.Clean(v.Value))
		}
	}
	if s.Without != "" {
		fmt.Fprintln(w, words.Clean(s.Without))
	}
}

// printGoroutines prints the goroutines of a pod for people.
func (s *stackJSON) printGoroutines(w io.Writer) {
	var rows [][]string
	for i, g := range s.Goroutines {
		held := ""
		if i == 0 {
			held = "held"
		}
		rows = append(rows, []string{strconv.FormatUint(g.ID, 10), words.Clean(g.Step), held})
	}
	table(w, []string{"GOROUTINE", "STEP", ""}, rows)
}
