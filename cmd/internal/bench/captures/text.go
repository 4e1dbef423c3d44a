package captures

import "strings"

// words are common words of answers, as in the text of a model. All strings of this file are
// already escaped for JSON.
var words = strings.Fields(`the of and to in is that it for as with on are this be at by from or an was have has not which
you can if will one all also its more than other some time only when into two they what about there first may these
such use number most part over many new water way system between data used different each same high under world set
work during large set example value result because small state change process model energy government river city
capital population country history language information function return error string file server request response
temperature approximately international understanding administration characteristics development environment
neighbourhood responsibilities configuration implementation infrastructure particularly Oslo Norway Paris France
Akerselva January Monday API JSON HTTP SQL AG-UI 720,000 1,024 3.14 42 2026 95% e.g. i.e. don't it's we'll`)

// others are words and marks outside ASCII, as real captures have them unescaped.
var others = strings.Fields(`blåbærsyltetøy naïve café Zürich São Ærø Łódź Ελλάδα Москва ответ 東京 日本語のテキスト 你好 한국어 שלום مرحبا
“quoted” ‘single’ – — … € °C → ≤ ✅ 🎉 😀 👩‍👧 🇳🇴 👋🏽 𝄞 𠮷`)

// marks are what separates sentences, lines and blocks of code.
var marks = []string{
	".", ".", ".", ",", ",", ",", ":", ";", "?", "!", "**", "`", " -", " (", ")", `\n`, `\n\n`, `\n- `, `\n\n## `, `\n1. `, `\t`,
	` \"`, `\"`, ` \"name\": \"value\"`, `\\n`, ` C:\\temp\\file.txt`, "```go\\n\\tif err != nil {\\n\\t\\treturn fmt.Errorf(\\\"open %s: %w\\\", name, err)\\n\\t}\\n```\\n", `\u001b[0m`, `\r\n`,
}

// word returns a word.
func (g *generator) word() string {
	if g.random.IntN(40) == 0 {
		return others[g.random.IntN(len(others))]
	}
	return words[g.random.IntN(len(words))]
}

// sentence returns text that is not blank.
func (g *generator) sentence(least, most int) string { return " " + g.word() + g.text(least, most) }

// text returns least to most words or marks.
func (g *generator) text(least, most int) string {
	var b []byte
	for range least + g.random.IntN(most-least+1) {
		if g.random.IntN(9) == 0 {
			b = append(b, marks[g.random.IntN(len(marks))]...)
		} else {
			b = append(append(b, ' '), g.word()...)
		}
	}
	return string(b)
}
