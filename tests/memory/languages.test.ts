import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemorySearchTool } from "../../src/tools/memory/memory-search.ts";
import { createPlace, type Place } from "./helpers.ts";

/** Notes of one day each, and questions with the number of the note that answers. */
const LANGUAGES: Record<string, { notes: string[]; questions: [string, number][] }> = {
  Chinese: {
    notes: [
      "李明上个月搬到了上海，租了一间靠近外滩的公寓。",
      "王芳的生日是六月十二日，她喜欢巧克力蛋糕。",
      "数据库的备份每天凌晨三点运行，保存在东京机房。",
      "我们决定用红色作为新网站的主色。",
      "爷爷的心脏手术安排在星期四上午。",
    ],
    questions: [
      ["李明住在哪个城市？", 0],
      ["王芳什么时候过生日？", 1],
      ["数据库备份几点运行？", 2],
      ["新网站是什么颜色？", 3],
      ["手术在星期几？", 4],
    ],
  },
  Japanese: {
    notes: [
      "田中さんは先月、大阪に引っ越しました。",
      "佐藤さんの誕生日は十月三日で、抹茶ケーキが好きです。",
      "サーバーのバックアップは毎晩二時に実行されます。",
      "新しいロゴは青に決まりました。",
      "母の手術は木曜日の午前中です。",
    ],
    questions: [
      ["田中さんはどこに引っ越しましたか", 0],
      ["佐藤さんの誕生日はいつですか", 1],
      ["バックアップは何時に実行されますか", 2],
      ["ロゴの色は何ですか", 3],
      ["手術は何曜日ですか", 4],
    ],
  },
  Thai: {
    notes: [
      "สมชายย้ายไปอยู่เชียงใหม่เมื่อเดือนที่แล้ว",
      "วันเกิดของมาลีคือวันที่สิบสองมิถุนายน",
      "เซิร์ฟเวอร์สำรองข้อมูลทุกคืนตอนตีสาม",
      "เราเลือกสีเขียวสำหรับโลโก้ใหม่",
      "คุณแม่จะผ่าตัดหัวใจวันพฤหัสบดี",
    ],
    questions: [
      ["สมชายย้ายไปอยู่ที่ไหน", 0],
      ["วันเกิดของมาลีคือเมื่อไร", 1],
      ["สำรองข้อมูลตอนกี่โมง", 2],
      ["โลโก้ใหม่สีอะไร", 3],
      ["ผ่าตัดวันไหน", 4],
    ],
  },
  Arabic: {
    notes: [
      "انتقل أحمد إلى القاهرة في الشهر الماضي واستأجر شقة صغيرة.",
      "عيد ميلاد فاطمة في الثاني عشر من يونيو.",
      "يعمل النسخ الاحتياطي لقاعدة البيانات كل ليلة في الساعة الثالثة.",
      "اخترنا اللون الأخضر للشعار الجديد.",
      "عملية القلب لجدي يوم الخميس صباحا.",
    ],
    questions: [
      ["إلى أين انتقل أحمد؟", 0],
      ["متى عيد ميلاد فاطمة؟", 1],
      ["في أي ساعة النسخ الاحتياطي؟", 2],
      ["ما لون الشعار؟", 3],
      ["متى عملية القلب؟", 4],
    ],
  },
  Hindi: {
    notes: [
      "राहुल पिछले महीने मुंबई चला गया और वहाँ एक फ्लैट लिया।",
      "प्रिया का जन्मदिन बारह जून को है।",
      "डेटाबेस का बैकअप हर रात तीन बजे चलता है।",
      "नई वेबसाइट के लिए हमने नीला रंग चुना।",
      "दादाजी का ऑपरेशन गुरुवार की सुबह है।",
    ],
    questions: [
      ["राहुल कहाँ चला गया?", 0],
      ["प्रिया का जन्मदिन कब है?", 1],
      ["बैकअप कितने बजे चलता है?", 2],
      ["वेबसाइट का रंग क्या है?", 3],
      ["दादाजी का ऑपरेशन कब है?", 4],
    ],
  },
  Korean: {
    notes: [
      "민수는 지난달에 부산으로 이사했다.",
      "지영의 생일은 유월 십이일이고 초콜릿 케이크를 좋아한다.",
      "데이터베이스 백업은 매일 새벽 세 시에 실행된다.",
      "새 웹사이트의 색은 파란색으로 정했다.",
      "할아버지의 수술은 목요일 오전이다.",
    ],
    questions: [
      ["민수가 어디로 이사했나요?", 0],
      ["지영이 생일이 언제예요?", 1],
      ["백업이 몇 시에 실행되나요?", 2],
      ["웹사이트 색은 무엇인가요?", 3],
      ["수술은 무슨 요일인가요?", 4],
    ],
  },
};

let place: Place;
beforeEach(async () => {
  place = await createPlace();
});
afterEach(async () => {
  await place.remove();
});

test.each(Object.entries(LANGUAGES))("%s questions find their notes first", async (_name, language) => {
  // Notes of all the other languages lie beside them.
  for (const [name, { notes }] of Object.entries(LANGUAGES))
    for (const [at, note] of notes.entries()) await place.write(`memory/${name}/${at}.md`, `${note}\n`);
  const search = createMemorySearchTool();
  for (const [query, at] of language.questions) {
    const { structured } = await place.call(search, { query });
    const { results } = structured as { results: { file: string; snippet: string }[] };
    expect([query, results[0]?.snippet]).toEqual([query, language.notes[at]]);
  }
});
