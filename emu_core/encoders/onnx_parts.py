"""The parts of an encoder for an ONNX export, and sentences on which it is compared with torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

CHECK_TEXTS = (  # many languages and scripts, short and long
    "pool",
    "",
    "Where is the pool, and until when is it open?",
    "Wo kann man hier schwimmen und danach noch etwas essen?",
    "À quelle heure le petit-déjeuner est-il servi ?",
    "¿Podrían cambiarme las toallas, por favor?",
    "La chiave della camera non funziona più.",
    "Ik wil graag een nacht langer blijven.",
    "Czy mogę prosić o dodatkową poduszkę?",
    "Gostaria de cancelar a minha reserva.",
    "Где находится ближайшая аптека?",
    "Klima çalışmıyor, bakar mısınız?",
    "أين يقع المسبح؟",
    "המפתח לחדר לא עובד.",
    "وای‌فای چه رمزی دارد؟",
    "स्विमिंग पूल कहाँ है?",
    "সকালের নাস্তা কখন?",
    "プールはどこですか？",
    "수영장이 어디에 있나요?",
    "游泳池在哪里？",
    "請問早餐幾點開始？",
    "สระว่ายน้ำอยู่ที่ไหน",
    "Πού είναι η πισίνα;",
    "Bể bơi ở đâu vậy?",
    "Bwawa la kuogelea liko wapi?",
    "Uima-allas on kiinni, mutta sauna lämpenee jo.",
    "room 1204, 24/7 Wi-Fi: pa$$-W0RD!?",
    "🏊 \u2764\ufe0f 𓀀𓀁 ꙮ",
    "The air conditioning in our room has been dripping onto the carpet since last night, the shower only runs cold, "
    "and when I rang the desk at seven nobody picked up, so could you please send somebody before we come back from "
    "breakfast, or else move us to another room on the same floor?",
)

Graph = Callable[[Tensor, Tensor], Tensor]
"""`forward` in operations of ONNX: from token ids (B, T) and a mask (B, T), 1 on tokens, to vectors (B, dim)."""


@dataclass(frozen=True)
class OnnxParts:
    """An encoder for programs without torch and, if possible, without emu_core."""

    graph: Graph
    imports: str  # lines of Python that import what `token_ids` needs
    token_ids: str  # lines that define `token_ids(text) -> list[int]`, from the folder's files alone
    check_ids: Sequence[list[int]]  # token ids of sentences on which the graph is compared with torch
    counted: str = "tokens"  # the unit of the encoder's `max_tokens`
    alternating: int = 1  # encoders whose tokens alternate in a sentence
