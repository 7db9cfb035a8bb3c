package probes

import (
	"bytes"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

// ReadYAML decodes the one YAML document of a file that is built into the program. A field that into does not have
// is an error.
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
