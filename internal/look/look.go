// Package look has the design that the pages of the program share: those that report writes, and
// the window of serve.
package look

import _ "embed"

//go:embed base.css
var base string

//go:embed shared.js
var shared string

// Style returns the style sheet of the colours, texts and parts that the pages have in common. What
// only one kind of page has comes after it.
func Style() string { return base }

// Script returns a script that declares the functions that the pages have in common. It is no
// module, because the one script of a report is inline.
func Script() string { return shared }

// Module returns Script as a module that exports what it declares.
func Module() string { return shared + "\nexport { count, picture, pieces, plural };\n" }
