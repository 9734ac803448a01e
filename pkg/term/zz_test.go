package term
import ("testing";"fmt"
 "charm.land/glamour/v2"
 "charm.land/glamour/v2/styles"
 "github.com/charmbracelet/x/ansi"
 "github.com/rivo/uniseg"
)
func TestZ(t *testing.T){
 for _,s:=range []string{"✔","✘","?","→","–","…","·","×","中","，","e\u0301","👩‍💻","▇","─","►","\u200b","ﬁ", "│"} { fmt.Printf("%q %d %d\n", s, ansi.StringWidth(s), uniseg.StringWidth(s)) }
 md:="# 标题 Title\n\nEnvoy knew one thing when it started: where its **control plane** is. Everything `it serves` now came over one stream. See [docs](https://x.y/z) what was said:\n\n    lab journal\n\n```yaml\nname: orders\nconnect_timeout: 0s\n```\n\n- one item with a long text that should be wrapped at the right place, with a hanging indent if it can\n- two\n\n1. a\n2. b\n\n| a | b |\n|---|---|\n| x | y |\n\n> quote\n\nEnvoy 启动时只知道一件事：它的控制平面在哪里。它现在提供的一切都来自同一条流。请看看它们说了些什么，每一条消息都被记录下来了，包括 NACK 和 nonce。本步骤内 Envoy 拒绝了一次 CDS。\n"
 r,err:=glamour.NewTermRenderer(glamour.WithStyles(styles.NoTTYStyleConfig), glamour.WithWordWrap(80))
 if err!=nil{t.Fatal(err)}
 o,err:=r.Render(md); fmt.Println(o,err)
 fmt.Printf("%q\n",o)
}
