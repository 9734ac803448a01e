// Package labs holds the labs as they are in the repository, one folder each.
// It has no logic: pkg/curriculum reads them, and a new lab is a new folder.
package labs

import "embed"

// FS has a folder for each lab, "08-xds".
//
//go:embed [0-9][0-9]-*
var FS embed.FS
