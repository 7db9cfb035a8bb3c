package probes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// FunctionSum identifies the code of a function from its text: its tokens,
// without comments and layout, as 16 hexadecimal digits.
func FunctionSum(text []byte) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(text)), text, nil, 0)
	h := sha256.New()
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			sum := h.Sum(nil)
			return hex.EncodeToString(sum[:8])
		}
		if tok == token.SEMICOLON {
			lit = "" // written, or at the end of a line
		}
		fmt.Fprintf(h, "%s %q\n", tok, lit)
	}
}

// sumsFile has the sums of the steps' functions, a step a line. It is generated
// with the package source.
const sumsFile = "functions.sum"

// loadSums reads the sums into the steps.
func (c *Catalogue) loadSums(files fs.FS, dir string) error {
	b, err := fs.ReadFile(files, path.Join(dir, sumsFile))
	if err != nil {
		return fmt.Errorf("read catalogue: %w", err)
	}
	for line := range bytes.Lines(b) {
		name, sum, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if !ok {
			return fmt.Errorf("read catalogue: %s has a line %q", sumsFile, name)
		}
		// The line of a step that was removed stays until the file is generated again.
		if s := c.byName[name]; s != nil {
			s.Sum = sum
		}
	}
	return nil
}
