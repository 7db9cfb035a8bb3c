package probes

import (
	"bytes"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

// ReadYAML reads a file that is built into the program, which has one YAML
// document, into what into points to. A field that is not in into is an error.
func ReadYAML(files fs.FS, name string, into any) error {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
