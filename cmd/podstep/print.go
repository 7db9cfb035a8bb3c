package main

import (
	"bytes"
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

// print writes data as the format says; people is called when no program reads.
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
		text, err := yaml.Marshal(data)
		if err != nil {
			return fmt.Errorf("print as yaml: %w", err)
		}
		b.Write(text)
	default:
		people(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
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

// left is what remains of a time, as a script gets it: "4m59s".
func left(d time.Duration) string {
	if d >= time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
