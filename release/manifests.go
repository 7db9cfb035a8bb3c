package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"
)

// sumsFile has the SHA-256 of all other files, as sha256sum writes and reads it.
const sumsFile = "SHA256SUMS"

//go:embed templates
var templates embed.FS

// archiveOf is what manifests need of an archive.
type archiveOf struct {
	OS, Arch string
	URL      string
	Dir      string // the directory in it that has all files
	Program  string // the name of the program in that directory
	SHA256   string
}

// manifests writes the files by which others install an archive: krew's, Homebrew's, Nix's. Each template makes a file of
// its name.
func (r *release) manifests() error {
	values := struct {
		Version, Summary, Homepage string
		Archives                   []archiveOf
	}{r.version, summary, homepage, nil}
	for _, t := range r.targets {
		sum, err := sumOf(filepath.Join(r.out, r.archiveName(t)))
		if err != nil {
			return err
		}
		values.Archives = append(values.Archives, archiveOf{t.os, t.arch, downloads + "/v" + r.version + "/" + r.archiveName(t), r.archiveDir(t), programName(t), sum})
	}
	names, err := fs.ReadDir(templates, "templates")
	if err != nil {
		return fmt.Errorf("list the templates: %w", err)
	}
	for _, name := range names {
		form, err := template.New(name.Name()).Option("missingkey=error").ParseFS(templates, "templates/"+name.Name())
		if err != nil {
			return fmt.Errorf("read a template: %w", err)
		}
		var text bytes.Buffer
		if err := form.Execute(&text, values); err != nil {
			return fmt.Errorf("fill a template: %w", err)
		}
		if err := r.write(name.Name(), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// sums writes the sums of all files.
func (r *release) sums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return fmt.Errorf("list the files of the release: %w", err)
	}
	var text bytes.Buffer
	for _, f := range files {
		sum, err := sumOf(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, f.Name())
	}
	return r.write(sumsFile, text.Bytes())
}
