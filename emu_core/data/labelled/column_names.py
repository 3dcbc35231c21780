"""The usual names of columns and splits, in the languages whose tables we are likely to meet."""

from types import MappingProxyType

COLUMN_NAMES = MappingProxyType(
    {
        "text": (
            "text utt utterance sentence query question phrase message prompt example content "
            "texts utterances sentences queries questions "
            "satz sätze frage äußerung aeusserung anfrage nachricht "
            "texto frase oración pregunta consulta mensaje enunciado pergunta testo domanda "
            "texte énoncé requête "
            "テキスト 文 文章 質問 発話 文本 句子 問題 问题 语句 語句 内容 查询"
        ),
        "intent": (
            "intent intent_name label_text label_name intents label labels category class topic intention "
            "tag target scenario "
            "absicht kategorie klasse thema etikett "
            "intención categoría clase etiqueta tema intenção categoria classe etichetta "
            "catégorie étiquette thème sujet "
            "インテント 意図 ラベル カテゴリ カテゴリー 分類 トピック 意图 意圖 标签 "
            "標籤 类别 類別 分类 主题 主題"
        ),
        "language": (
            "language lang locale language_code lang_code languages "
            "sprache idioma lengua língua lingua langue 言語 语言 語言 语种"
        ),
        "id": (
            "id uid key sentence_id text_id utterance_id parallel_id index_id "
            "kennung schlüssel identificador clave identifiant clé キー 識別子 编号 編號"
        ),
        "split": (
            "split partition set subset "
            "aufteilung teilmenge partición conjunto répartition ensemble 分割 划分 劃分"
        ),
        "annotated": (
            "annotated annot_utt annotated_text annotation annotiert anotado annoté 注釈 注釈付き 标注 標註"
        ),
    }
)
"""Role -> the names its column usually has, the likeliest first: English, German, Spanish, Portuguese,
Italian, French, Japanese, Chinese. Names such as `nummer` are left out: they count rows."""

SPLIT_NAMES = MappingProxyType(
    {
        "training": "train",
        "val": "dev",
        "valid": "dev",
        "validation": "dev",
        "development": "dev",
        "testing": "test",
    }
)
"""Other names of the splits -> train, dev, test."""
