package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/podstep/podstep/probes/words"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// format is the -o flag.
type format struct{ choice }

func (f *format) add(cmd *cobra.Command, of ...string) {
	f.of = of
	f.choice.add(cmd, "output", "o", "output format: "+strings.Join(of, ", ")+" (default: text for people)")
}

func (f *format) wide() bool { return f.value == "wide" }

// print writes data as the format says. It calls people if no script reads the output.
func (f *format) print(w io.Writer, data any, people func(io.Writer)) error {
	var b bytes.Buffer
	switch f.value {
	case "json":
		text, err := words.JSON(data, "  ")
		if err != nil {
			return err
		}
		b.Write(text)
	case "yaml":
		text, err := inYAML(data)
		if err != nil {
			return err
		}
		b.Write(text)
	default:
		people(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// inYAML returns data as YAML. The encoder leaves characters as they are that a terminal would act on, such as those that
// change the direction of writing, and loses some. JSON has escapes for all of them, and is YAML.
func inYAML(data any) ([]byte, error) {
	text, err := yaml.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("print as yaml: %w", err)
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("print as yaml: %w", err)
	}
	if !words.Printable(text) || !words.Printable(raw) {
		return words.Flow(data)
	}
	return text, nil
}

// table lines up cells in columns.
func table(w io.Writer, header []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = words.Clean(c)
			if c == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), " "))
	}
	t.Flush()
}

// left writes the rest of a time as a script gets it: "4m59s".
func left(d time.Duration) string {
	if d >= time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
